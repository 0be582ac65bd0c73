// SPDX-License-Identifier: Apache-2.0
// Exponential-step aggregation on CUDA; see exponential.h. Cells lie [eight][y][x]: eight disparities of a pixel are 16 bytes, two in
// a word, so that a warp moves whole lines of memory whatever the step is. A pixel's costs become messages in the thread that makes
// them. A round is one kernel: a thread goes down a column in steps of s, averages each row along x and keeps three of them, which
// is what the average along y needs.
#include "../../gpu/traits.h"
#include "exponential_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kBlockX = 32, kBlockY = 4;
/// Disparities that lie together, and words of them.
constexpr int kEight = 8, kWords = kEight / 2;
/// Threads of a row's block.
constexpr int kMaxAcross = 512;
/// Above every cell and every cell with a slope.
constexpr int kNothing = 1 << 20;

__device__ int colourDifference(Rgb8 a, Rgb8 b) {
  return max(max(abs(a.red - b.red), abs(a.green - b.green)), abs(a.blue - b.blue));
}

__global__ void __launch_bounds__(128)
    weightsKernel(const Rgb8* rgb, const ExponentialPass* passes, uint32_t* weights, int width, int height) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= width || y >= height) return;
  const ExponentialPass& pass = passes[blockIdx.z];
  const int at = y * width + x, step = pass.step;
  const int place = pass.alongX ? x : y, end = pass.alongX ? width : height, offset = pass.alongX ? step : step * width;
  const Rgb8 own = rgb[at];
  const uint32_t before = place >= step ? pass.weights[colourDifference(own, rgb[at - offset])] : 0u;
  const uint32_t after = place + step < end ? pass.weights[colourDifference(own, rgb[at + offset])] : 0u;
  const uint32_t reciprocal = 65535u * 4096u / (4096u + before + after);
  weights[static_cast<size_t>(blockIdx.z) * width * height + at] =
      before * reciprocal >> 12 | (after * reciprocal >> 12) << 16;
}

/// Eq. 18 to 21 for one pixel, two disparities a turn.
struct Messages {
  int slope, running, least;

  __device__ explicit Messages(int perStep) : slope(perStep), running(kNothing), least(kNothing) {}
  __device__ int up(int cost) {
    least = min(least, cost);
    running = min(running + slope, cost);
    return running;
  }
  __device__ int down(int cell, int limit) {
    running = min(min(running + slope, cell), limit);
    return running;
  }
};

__device__ __forceinline__ uint32_t& wordOf(uint4& cells, int word) {
  return word == 0 ? cells.x : word == 1 ? cells.y : word == 2 ? cells.z : cells.w;
}

struct Shape {
  int width, height, numDisparities;
  __device__ size_t pixels() const { return static_cast<size_t>(width) * height; }
};

/// Disparities [8 eight, 8 eight + 8) of a pixel, those that are not searched 0.
template <class CostOf>
__device__ __forceinline__ uint4 cellsOf(const CostOf& costOf, int eight, int numDisparities) {
  uint4 cells = make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int word = 0; word < kWords; ++word) {
    const int d = kEight * eight + 2 * word;
    const uint32_t low = d < numDisparities ? costOf(d) : 0u, high = d + 1 < numDisparities ? costOf(d + 1) : 0u;
    wordOf(cells, word) = low | high << 16;
  }
  return cells;
}

/// Cells of all a pixel's disparities become messages: those from below first, with what costOf gives, then those from above.
template <class CostOf>
__device__ __forceinline__ void makeMessages(const CostOf& costOf, uint4* cells, size_t pixels, int numDisparities,
                                             int slope, int cap) {
  Messages messages(slope);
  const int eights = (numDisparities + kEight - 1) / kEight;
  for (int eight = 0; eight < eights; ++eight) {
    cells[eight * pixels] = cellsOf(
        [&](int d) { return static_cast<uint32_t>(messages.up(static_cast<int>(costOf(d)))); }, eight, numDisparities);
  }
  const int limit = messages.least + cap;
  messages.running = kNothing;
  for (int eight = eights - 1; eight >= 0; --eight) {
    uint4 own = cells[eight * pixels];
#pragma unroll
    for (int word = kWords - 1; word >= 0; --word) {
      const int d = kEight * eight + 2 * word;
      const uint32_t was = wordOf(own, word);
      uint32_t low = 0, high = 0;
      if (d + 1 < numDisparities) high = static_cast<uint32_t>(messages.down(static_cast<int>(was >> 16), limit));
      if (d < numDisparities) low = static_cast<uint32_t>(messages.down(static_cast<int>(was & 0xffffu), limit));
      wordOf(own, word) = low | high << 16;
    }
    cells[eight * pixels] = own;
  }
}

template <bool kMessages>
__global__ void __launch_bounds__(128, 12)
    costKernel(const uint8_t* left, const uint8_t* right, uint4* cells, Shape shape, ExponentialParameters p) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const uint8_t* row = right + static_cast<size_t>(y) * shape.width;
  const int own = left[static_cast<size_t>(y) * shape.width + x];
  cells += static_cast<size_t>(y) * shape.width + x;
  const int lastColumn = shape.width - 1;
  const auto gradientOf = [lastColumn](const uint8_t* line, int at) {
    return (line[min(at + 1, lastColumn)] - line[max(at - 1, 0)] + 255) >> 1;
  };
  const bool gradients = p.gradientCost > 0;
  const int ownGradient = gradients ? gradientOf(left + static_cast<size_t>(y) * shape.width, x) : 0;
  const auto costOf = [=](int d) {
    const int partner = max(x - p.minDisparity - d, 0);
    int cost = p.cost * min(abs(own - row[partner]), p.truncation);
    if (gradients) cost += p.gradientCost * min(abs(ownGradient - gradientOf(row, partner)), p.gradientTruncation);
    return static_cast<uint32_t>(cost);
  };
  if (kMessages) {
    makeMessages(costOf, cells, shape.pixels(), shape.numDisparities, p.slope, p.cap);
  } else {
    const int eight = blockIdx.z;
    cells[eight * shape.pixels()] = cellsOf(costOf, eight, shape.numDisparities);
  }
}

/// A pixel's eight cells, each in a word of its own.
struct Cells {
  uint32_t low[kWords], high[kWords];

  __device__ __forceinline__ void take(int word, uint32_t pair) { low[word] = pair & 0xffffu, high[word] = pair >> 16; }
  __device__ __forceinline__ void take(uint4 pairs) {
#pragma unroll
    for (int word = 0; word < kWords; ++word) take(word, wordOf(pairs, word));
  }
};

struct Weights {
  uint32_t before, centre, after;
  __device__ __forceinline__ explicit Weights(uint32_t both)
      : before(both & 0xffffu), centre(65535u - (both & 0xffffu) - (both >> 16)), after(both >> 16) {}
};

/// weight times both cells of a pair, each product's upper half.
__device__ __forceinline__ uint32_t weighted(uint32_t weight, const Cells& cells, int word) {
  return __byte_perm(weight * cells.low[word], weight * cells.high[word], 0x7632);
}
// No half overflows into the other: the three weights' sum is 65535.
__device__ __forceinline__ uint32_t averaged(const Weights& w, const Cells& before, const Cells& centre,
                                             const Cells& after, int word) {
  return weighted(w.before, before, word) + weighted(w.centre, centre, word) + weighted(w.after, after, word);
}

/// A round: along x where weightsX is there, then along y where weightsY is.
struct Round {
  const uint4* from;
  uint4* to;
  const uint32_t *weightsX, *weightsY;
  int step, segmentRows;
  Shape shape;
};

/// Averaged along x: the pixel at `at`, in column x. A neighbour outside the image weighs nothing; the pixel stands in for it.
template <bool kAlongX>
__device__ __forceinline__ void alongX(const Round& round, const uint4* from, size_t at, int x, Cells& out) {
  if (!kAlongX) {
    out.take(from[at]);
    return;
  }
  const int step = round.step;
  Cells before, centre, after;
  centre.take(from[at]);
  before.take(from[x >= step ? at - step : at]);
  after.take(from[x + step < round.shape.width ? at + step : at]);
  const Weights w(round.weightsX[at]);
#pragma unroll
  for (int word = 0; word < kWords; ++word) out.take(word, averaged(w, before, centre, after, word));
}

/// blockIdx: part of a row; chain of rows and its segment; eight disparities.
template <bool kAlongX, bool kAlongY>
__global__ void __launch_bounds__(kMaxAcross, kRoundBlocks) roundKernel(Round round) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= round.shape.width) return;
  const int apart = kAlongY ? round.step : 1, height = round.shape.height;
  const int segment = static_cast<int>(blockIdx.y) / apart, residue = static_cast<int>(blockIdx.y) % apart;
  const int first = residue + segment * round.segmentRows * apart;
  const int end = min(first + round.segmentRows * apart, height);
  const uint4* from = round.from + blockIdx.z * round.shape.pixels();
  uint4* to = round.to + blockIdx.z * round.shape.pixels();
  if (first >= end) return;
  const auto place = [&](int y) { return static_cast<size_t>(y) * round.shape.width + x; };
  Cells before, centre, after;
  if (kAlongY) alongX<kAlongX>(round, from, place(first >= apart ? first - apart : first), x, before);
  alongX<kAlongX>(round, from, place(first), x, centre);
  for (int y = first; y < end; y += apart) {
    const size_t at = place(y);
    const int next = y + apart;
    // Behind the last row of the image nothing has weight, and behind the segment's, without an average along y, nothing is used.
    if (kAlongY ? next < height : next < end) alongX<kAlongX>(round, from, place(next), x, after);
    uint4 out;
    if (kAlongY) {
      const Weights w(round.weightsY[at]);
#pragma unroll
      for (int word = 0; word < kWords; ++word) wordOf(out, word) = averaged(w, before, centre, after, word);
    } else {
#pragma unroll
      for (int word = 0; word < kWords; ++word) wordOf(out, word) = centre.low[word] | centre.high[word] << 16;
    }
    to[at] = out;
    before = centre;
    centre = after;
  }
}

__device__ int cellOf(const uint4* cells, size_t pixels, int d) {
  const auto* words = reinterpret_cast<const uint32_t*>(cells + static_cast<size_t>(d / kEight) * pixels);
  return static_cast<int>(words[d % kEight / 2] >> (16 * (d & 1)) & 0xffffu);
}

/// 16 times the parabola's place between cells below, best and above, rounded down: match/select's rule.
__device__ int32_t fractionQ4(int32_t below, int32_t best, int32_t above) {
  const int32_t q = below + above - 2 * best;
  if (q <= 0) return 0;
  // 8 is added and taken off again: of a positive quotient, truncation is the floor.
  return (16 * (below - above) + 17 * q) / (2 * q) - 8;
}

__device__ int32_t confidenceOf(int32_t least, int32_t second) {
  return 255 * (second - least) / (second > 1 ? second : 1);
}

/// The winner, its neighbours and the least of the others, found in one walk over the disparities.
struct Winner {
  int least = kNothing, place = 0, second = kNothing, below = 0, above = 0;
  int last = kNothing, earlier = kNothing;  ///< the cell before this one; the least of those before that one

  __device__ __forceinline__ void meet(int cell, int d) {
    if (cell < least) {
      least = cell, place = d, below = last, second = earlier;
    } else {
      if (d == place + 1) above = cell;
      if (d > place + 1) second = min(second, cell);
    }
    earlier = min(earlier, last);
    last = cell;
  }
};

__global__ void __launch_bounds__(128)
    winnersKernel(const uint4* cells, ExponentialDeviceResult result, Shape shape, int minDisparity, bool subpixel) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const size_t at = static_cast<size_t>(y) * shape.width + x, pixels = shape.pixels();
  const uint4* own = cells + at;
  const int count = shape.numDisparities;
  Winner winner;
  for (int first = 0; first < count; first += kEight) {
    uint4 eight = own[static_cast<size_t>(first / kEight) * pixels];
#pragma unroll
    for (int i = 0; i < kEight; ++i) {
      if (first + i < count) winner.meet(static_cast<int>(wordOf(eight, i / 2) >> (16 * (i & 1)) & 0xffffu), first + i);
    }
  }
  const int place = winner.place;
  const int fine =
      subpixel && place > 0 && place + 1 < count ? fractionQ4(winner.below, winner.least, winner.above) : 0;
  result.disparity[at] = static_cast<int16_t>(minDisparity + place);
  result.disparityQ4[at] = static_cast<int16_t>(16 * (minDisparity + place) + fine);
  result.confidence[at] =
      winner.second == kNothing ? uint8_t{0} : static_cast<uint8_t>(confidenceOf(winner.least, winner.second));
  if (result.rightDisparity == nullptr) return;
  // This thread's column as the right image's.
  int best = kNothing, right = kInvalidDisparity;
  for (int d = 0; d < count && x + minDisparity + d < shape.width; ++d) {
    const int cell = cellOf(own + minDisparity + d, pixels, d);
    if (cell < best) best = cell, right = minDisparity + d;
  }
  result.rightDisparity[at] = static_cast<int16_t>(right);
}

template <class Pixel>
__global__ void __launch_bounds__(128) mirrorKernel(const Pixel* from, Pixel* to, int width, int height) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t row = static_cast<size_t>(y) * width;
  to[row + x] = from[row + width - 1 - x];
}

template <class Pixel>
Status mirror(const Pixel* from, Pixel* to, int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + kBlockX - 1) / kBlockX, (height + kBlockY - 1) / kBlockY);
  mirrorKernel<Pixel><<<grid, dim3(kBlockX, kBlockY), 0, stream>>>(from, to, width, height);
  return launched("mirrorKernel");
}

}  // namespace

Status mirrorColumns(const uint8_t* from, uint8_t* to, int32_t width, int32_t height, cudaStream_t stream) {
  return mirror(from, to, width, height, stream);
}
Status mirrorColumns(const Rgb8* from, Rgb8* to, int32_t width, int32_t height, cudaStream_t stream) {
  return mirror(from, to, width, height, stream);
}
Status mirrorColumns(const int16_t* from, int16_t* to, int32_t width, int32_t height, cudaStream_t stream) {
  return mirror(from, to, width, height, stream);
}

Status ExponentialWorkspace::open(const ExponentialParameters& parameters, int32_t width, int32_t height) {
  p_ = parameters;
  width_ = width;
  height_ = height;
  passes_.resize(2 * kMaxSteps);
  passes_.resize(static_cast<size_t>(exponentialPasses(p_, width, height, passes_.data())));
  const int32_t eights = (p_.numDisparities + kEight - 1) / kEight;
  int device = 0, multiprocessors = 1;
  DEPTHWATT_CUDA(cudaGetDevice(&device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const int32_t parts = (width + kMaxAcross - 1) / kMaxAcross;
  across_ = ((width + parts - 1) / parts + 31) / 32 * 32;
  rounds_.clear();
  for (size_t i = 0; i < passes_.size(); ++i) {
    const ExponentialPass& pass = passes_[i];
    if (pass.alongX || rounds_.empty() || rounds_.back().step != pass.step || rounds_.back().passY >= 0)
      rounds_.push_back({pass.step, -1, -1, 0, 0});
    (pass.alongX ? rounds_.back().passX : rounds_.back().passY) = static_cast<int32_t>(i);
  }
  for (ExponentialRound& round : rounds_) {
    const int32_t apart = round.passY >= 0 ? round.step : 1, chain = (height + apart - 1) / apart;
    // The fewest rows that one multiprocessor goes through, with two blocks or more on each where there are as many. A row at each
    // end of a segment is averaged along x for its neighbour's sake.
    int64_t least = -1;
    for (int32_t rows = 1; rows <= chain; ++rows) {
      const int32_t segments = (chain + rows - 1) / rows;
      const int64_t blocks = static_cast<int64_t>(parts) * eights * apart * segments;
      int64_t turns = (blocks + multiprocessors - 1) / multiprocessors;
      if (turns < 2) turns = 2;
      const int64_t work = turns * (2 * rows + (segments > 1 ? 2 : 0));
      if (least < 0 || work < least) least = work, round.segmentRows = rows, round.segments = segments;
    }
  }
  const size_t pixels = static_cast<size_t>(width) * height;
  DEPTHWATT_TRY(devicePasses_.allocate(passes_.size()));
  DEPTHWATT_TRY(weights_.allocate(passes_.size() * pixels));
  for (DeviceBuffer<uint4>& cells : cells_) DEPTHWATT_TRY(cells.allocate(static_cast<size_t>(eights) * pixels));
  if (passes_.empty()) return {};
  return cudaStatus(cudaMemcpy(devicePasses_.get(), passes_.data(), devicePasses_.bytes(), cudaMemcpyHostToDevice),
                    "weights of colours");
}

Status ExponentialWorkspace::compute(const uint8_t* left, const uint8_t* right, const Rgb8* leftRgb,
                                     const ExponentialDeviceResult& result, cudaStream_t stream) {
  const Shape shape = {width_, height_, p_.numDisparities};
  const size_t pixels = static_cast<size_t>(width_) * height_;
  const dim3 block(kBlockX, kBlockY);
  dim3 grid((width_ + kBlockX - 1) / kBlockX, (height_ + kBlockY - 1) / kBlockY, static_cast<unsigned>(passes_.size()));
  if (!passes_.empty()) {
    weightsKernel<<<grid, block, 0, stream>>>(leftRgb, devicePasses_.get(), weights_.get(), width_, height_);
    DEPTHWATT_TRY(launched("weightsKernel"));
  }
  const unsigned eights = static_cast<unsigned>((p_.numDisparities + kEight - 1) / kEight);
  if (p_.slope > 0) {
    grid.z = 1;
    costKernel<true><<<grid, block, 0, stream>>>(left, right, cells_[0].get(), shape, p_);
  } else {
    grid.z = eights;
    costKernel<false><<<grid, block, 0, stream>>>(left, right, cells_[0].get(), shape, p_);
  }
  DEPTHWATT_TRY(launched("costKernel"));
  Round round = {cells_[0].get(), cells_[1].get(), nullptr, nullptr, 0, 0, shape};
  for (const ExponentialRound& one : rounds_) {
    const bool x = one.passX >= 0, y = one.passY >= 0;
    round.weightsX = x ? weights_.get() + one.passX * pixels : nullptr;
    round.weightsY = y ? weights_.get() + one.passY * pixels : nullptr;
    round.step = one.step, round.segmentRows = one.segmentRows;
    const dim3 parts((width_ + across_ - 1) / across_, (y ? one.step : 1) * one.segments, eights);
    const auto kernel = x && y ? roundKernel<true, true> : x ? roundKernel<true, false> : roundKernel<false, true>;
    kernel<<<parts, across_, 0, stream>>>(round);
    DEPTHWATT_TRY(launched("roundKernel"));
    uint4* const next = const_cast<uint4*>(round.from);
    round.from = round.to, round.to = next;
  }
  grid.z = 1;
  winnersKernel<<<grid, block, 0, stream>>>(round.from, result, shape, p_.minDisparity, p_.subpixel);
  return launched("winnersKernel");
}

}  // namespace gpu
}  // namespace depthwatt
