// SPDX-License-Identifier: Apache-2.0
// Exponential-step aggregation on CUDA; see exponential.h. One thread, one pixel. Cells lie [pair][y][x], two disparities a word, so
// that a warp moves whole lines of memory whatever the step is. A pixel's costs become messages in the thread that makes them.
#include "exponential_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kBlockX = 32, kBlockY = 4;
/// Pairs of disparities that a thread takes where disparities do not meet.
constexpr int kPairsPerThread = 8;
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

/// whole: the pair's second disparity is searched.
__device__ uint32_t pairUp(Messages& messages, uint32_t pair, bool whole) {
  const uint32_t low = static_cast<uint32_t>(messages.up(static_cast<int>(pair & 0xffffu)));
  return whole ? low | static_cast<uint32_t>(messages.up(static_cast<int>(pair >> 16))) << 16 : low;
}

__device__ void pairsDown(Messages& messages, uint32_t* cells, size_t pixels, int numDisparities, int cap) {
  const int limit = messages.least + cap;
  messages.running = kNothing;
  for (int pair = (numDisparities - 1) / 2; pair >= 0; --pair) {
    uint32_t& cell = cells[static_cast<size_t>(pair) * pixels];
    const uint32_t was = cell;
    uint32_t high = 0;
    if (2 * pair + 1 < numDisparities)
      high = static_cast<uint32_t>(messages.down(static_cast<int>(was >> 16), limit)) << 16;
    cell = static_cast<uint32_t>(messages.down(static_cast<int>(was & 0xffffu), limit)) | high;
  }
}

struct Shape {
  int width, height, numDisparities;
  __device__ size_t pixels() const { return static_cast<size_t>(width) * height; }
};

template <bool kMessages>
__global__ void __launch_bounds__(128)
    costKernel(const uint8_t* left, const uint8_t* right, uint32_t* cells, Shape shape, ExponentialParameters p) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const uint8_t* row = right + static_cast<size_t>(y) * shape.width;
  const int own = left[static_cast<size_t>(y) * shape.width + x];
  cells += static_cast<size_t>(y) * shape.width + x;
  const int lastColumn = shape.width - 1;
  const auto gradientOf = [&](const uint8_t* line, int at) {
    return (line[min(at + 1, lastColumn)] - line[max(at - 1, 0)] + 255) >> 1;
  };
  const bool gradients = p.gradientCost > 0;
  const int ownGradient = gradients ? gradientOf(left + static_cast<size_t>(y) * shape.width, x) : 0;
  const auto costOf = [&](int d) {
    const int partner = max(x - p.minDisparity - d, 0);
    int cost = p.cost * min(abs(own - row[partner]), p.truncation);
    if (gradients) cost += p.gradientCost * min(abs(ownGradient - gradientOf(row, partner)), p.gradientTruncation);
    return static_cast<uint32_t>(cost);
  };
  const int pairs = (shape.numDisparities + 1) / 2;
  const int first = kMessages ? 0 : blockIdx.z * kPairsPerThread,
            end = kMessages ? pairs : min(first + kPairsPerThread, pairs);
  Messages messages(p.slope);
  for (int pair = first; pair < end; ++pair) {
    const bool whole = 2 * pair + 1 < shape.numDisparities;
    uint32_t cell = costOf(2 * pair);
    if (whole) cell |= costOf(2 * pair + 1) << 16;
    if (kMessages) cell = pairUp(messages, cell, whole);
    cells[pair * shape.pixels()] = cell;
  }
  if (kMessages) pairsDown(messages, cells, shape.pixels(), shape.numDisparities, p.cap);
}

/// weight times both cells of a pair, each product's upper half.
__device__ uint32_t weighted(uint32_t weight, uint32_t pair) {
  return (weight * (pair & 0xffffu)) >> 16 | ((weight * (pair >> 16)) & 0xffff0000u);
}

__global__ void __launch_bounds__(128)
    aggregateKernel(const uint32_t* from, const uint32_t* weights, uint32_t* to, int offset, Shape shape) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const size_t at = static_cast<size_t>(y) * shape.width + x, pixels = shape.pixels();
  const uint32_t both = weights[at], wBefore = both & 0xffffu, wAfter = both >> 16, wCentre = 65535u - wBefore - wAfter;
  // A neighbour outside the image weighs nothing; the pixel stands in for it.
  const size_t before = wBefore > 0 ? at - offset : at, after = wAfter > 0 ? at + offset : at;
  const int first = blockIdx.z * kPairsPerThread, end = min(first + kPairsPerThread, (shape.numDisparities + 1) / 2);
#pragma unroll 4
  for (int pair = first; pair < end; ++pair) {
    const uint32_t* cells = from + pair * pixels;
    // No half overflows into the other: the three weights' sum is 65535.
    to[pair * pixels + at] =
        weighted(wBefore, cells[before]) + weighted(wCentre, cells[at]) + weighted(wAfter, cells[after]);
  }
}

__device__ int cellOf(const uint32_t* cells, size_t pixels, int d) {
  return static_cast<int>(cells[static_cast<size_t>(d >> 1) * pixels] >> (16 * (d & 1)) & 0xffffu);
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

__global__ void __launch_bounds__(128)
    winnersKernel(const uint32_t* cells, ExponentialDeviceResult result, Shape shape, int minDisparity, bool subpixel) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const size_t at = static_cast<size_t>(y) * shape.width + x, pixels = shape.pixels();
  const uint32_t* own = cells + at;
  const int count = shape.numDisparities;
  int least = kNothing, place = 0;
  for (int d = 0; d < count; ++d) {
    const int cell = cellOf(own, pixels, d);
    if (cell < least) least = cell, place = d;
  }
  int second = kNothing;
  for (int d = 0; d < count; ++d) {
    if (abs(d - place) > 1) second = min(second, cellOf(own, pixels, d));
  }
  int fine = 0;
  if (subpixel && place > 0 && place + 1 < count) {
    fine = fractionQ4(cellOf(own, pixels, place - 1), least, cellOf(own, pixels, place + 1));
  }
  result.disparity[at] = static_cast<int16_t>(minDisparity + place);
  result.disparityQ4[at] = static_cast<int16_t>(16 * (minDisparity + place) + fine);
  result.confidence[at] = second == kNothing ? uint8_t{0} : static_cast<uint8_t>(confidenceOf(least, second));
  if (result.rightDisparity == nullptr) return;
  // This thread's column as the right eye's.
  int best = kNothing, winner = kInvalidDisparity;
  for (int d = 0; d < count && x + minDisparity + d < shape.width; ++d) {
    const int cell = cellOf(own + minDisparity + d, pixels, d);
    if (cell < best) best = cell, winner = minDisparity + d;
  }
  result.rightDisparity[at] = static_cast<int16_t>(winner);
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
  steps_.resize(2 * kMaxSteps);
  steps_.resize(static_cast<size_t>(exponentialPasses(p_, width, height, steps_.data())));
  const size_t pixels = static_cast<size_t>(width) * height;
  DEPTHWATT_TRY(passes_.allocate(steps_.size()));
  DEPTHWATT_TRY(weights_.allocate(steps_.size() * pixels));
  for (DeviceBuffer<uint32_t>& cells : cells_) DEPTHWATT_TRY(cells.allocate((p_.numDisparities + 1) / 2 * pixels));
  if (steps_.empty()) return {};
  return cudaStatus(cudaMemcpy(passes_.get(), steps_.data(), passes_.bytes(), cudaMemcpyHostToDevice),
                    "weights of colours");
}

Status ExponentialWorkspace::compute(const uint8_t* left, const uint8_t* right, const Rgb8* leftRgb,
                                     const ExponentialDeviceResult& result, cudaStream_t stream) {
  const Shape shape = {width_, height_, p_.numDisparities};
  const size_t pixels = static_cast<size_t>(width_) * height_;
  const dim3 block(kBlockX, kBlockY);
  dim3 grid((width_ + kBlockX - 1) / kBlockX, (height_ + kBlockY - 1) / kBlockY, static_cast<unsigned>(steps_.size()));
  if (!steps_.empty()) {
    weightsKernel<<<grid, block, 0, stream>>>(leftRgb, passes_.get(), weights_.get(), width_, height_);
    DEPTHWATT_TRY(launched("weightsKernel"));
  }
  const unsigned slices = static_cast<unsigned>((p_.numDisparities + 2 * kPairsPerThread - 1) / (2 * kPairsPerThread));
  if (p_.slope > 0) {
    grid.z = 1;
    costKernel<true><<<grid, block, 0, stream>>>(left, right, cells_[0].get(), shape, p_);
  } else {
    grid.z = slices;
    costKernel<false><<<grid, block, 0, stream>>>(left, right, cells_[0].get(), shape, p_);
  }
  DEPTHWATT_TRY(launched("costKernel"));
  grid.z = slices;
  const uint32_t* from = cells_[0].get();
  for (size_t number = 0; number < steps_.size(); ++number) {
    const int offset = steps_[number].alongX ? steps_[number].step : steps_[number].step * width_;
    uint32_t* to = cells_[1 - number % 2].get();
    aggregateKernel<<<grid, block, 0, stream>>>(from, weights_.get() + number * pixels, to, offset, shape);
    DEPTHWATT_TRY(launched("aggregateKernel"));
    from = to;
  }
  grid.z = 1;
  winnersKernel<<<grid, block, 0, stream>>>(from, result, shape, p_.minDisparity, p_.subpixel);
  return launched("winnersKernel");
}

}  // namespace gpu
}  // namespace depthwatt
