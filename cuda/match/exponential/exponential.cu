// SPDX-License-Identifier: Apache-2.0
// Exponential-step aggregation on CUDA; see exponential.h. Cells lie [eight][y][x]: eight disparities of a pixel are 16 bytes, two in
// a word, so that a warp moves whole lines of memory whatever the step is. A pixel's costs become messages in the thread that makes
// them. A round is one kernel: a thread goes down a column in steps of s, averages each row along x and keeps three of them, which
// is what the average along y needs.
#include "../../gpu/launch.cuh"
#include "../../gpu/traits.h"
#include "exponential_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kBlockX = 32, kBlockY = 4;
/// Disparities that lie together, and words of them.
constexpr int kEight = 8, kWords = kEight / 2;
/// Passes whose weights one thread makes: it reads its own pixel's colour once, and its places and addresses are worked out once.
constexpr int kPassesPerThread = 6;
/// Threads of a row's block.
constexpr int kMaxAcross = 512;
/// Above every cell and every cell with a slope.
constexpr int kNothing = 1 << 20;

__device__ int colourDifference(Rgb8 a, Rgb8 b) {
  return max(max(abs(a.red - b.red), abs(a.green - b.green)), abs(a.blue - b.blue));
}

/// 65535 * 4096 / divisor, rounded down; divisor 4096 to 12288.
__device__ __forceinline__ uint32_t reciprocalOf(uint32_t divisor) {
  constexpr int kDividend = 65535 * 4096;
  // At most one off: seventeen bits of a quotient that is good to twenty-two.
  const auto quotient = static_cast<uint32_t>(__fdividef(static_cast<float>(kDividend), static_cast<float>(divisor)));
  const int rest = kDividend - static_cast<int>(quotient * divisor);
  return rest < 0 ? quotient - 1 : rest >= static_cast<int>(divisor) ? quotient + 1 : quotient;
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

struct Preparation {
  const uint8_t *left, *right;
  const Rgb8* rgb;
  const ExponentialPass* passes;
  uint32_t* weights;
  uint4* cells;
  int passCount;
};

/// Threads of a pixel that make weights.
__host__ __device__ inline int partsOf(int passCount) { return (passCount + kPassesPerThread - 1) / kPassesPerThread; }

/// Of a pixel and up to kPassesPerThread passes: the weights of the neighbour before (low half) and after.
__device__ __forceinline__ void makeWeights(const Preparation& from, int first, int x, int y, const Shape& shape) {
  const int at = y * shape.width + x, last = min(from.passCount, first + kPassesPerThread);
  const Rgb8 own = from.rgb[at];
  uint32_t* to = from.weights + first * shape.pixels() + at;
#pragma unroll 2
  for (int i = first; i < last; ++i, to += shape.pixels()) {
    const ExponentialPass& pass = from.passes[i];
    const int step = pass.step, offset = pass.alongX ? step : step * shape.width;
    const int place = pass.alongX ? x : y, end = pass.alongX ? shape.width : shape.height;
    // A neighbour outside the image has no weight; the pixel itself is read in its stead, without a branch.
    const bool hasBefore = place >= step, hasAfter = place + step < end;
    const Rgb8 colourBefore = from.rgb[hasBefore ? at - offset : at];
    const Rgb8 colourAfter = from.rgb[hasAfter ? at + offset : at];
    uint32_t before = pass.weights[colourDifference(own, colourBefore)];
    uint32_t after = pass.weights[colourDifference(own, colourAfter)];
    before = hasBefore ? before : 0u, after = hasAfter ? after : 0u;
    const uint32_t reciprocal = reciprocalOf(4096u + before + after);
    *to = before * reciprocal >> 12 | (after * reciprocal >> 12) << 16;
  }
}

/// blockIdx.z: some passes' weights, or behind them eight disparities' costs, or all messages.
template <bool kMessages>
__global__ void __launch_bounds__(128, 12) prepareKernel(Preparation from, Shape shape, ExponentialParameters p) {
  untilKernelBefore();
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const int weightParts = partsOf(from.passCount);
  if (static_cast<int>(blockIdx.z) < weightParts) {
    makeWeights(from, static_cast<int>(blockIdx.z) * kPassesPerThread, x, y, shape);
    return;
  }
  const uint8_t *left = from.left, *right = from.right;
  uint4* cells = from.cells;
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
    const int eight = static_cast<int>(blockIdx.z) - weightParts, first = x - p.minDisparity - kEight * eight;
    if (!gradients && first >= kEight - 1 && kEight * (eight + 1) <= shape.numDisparities) {
      const uint8_t* const partners = row + first;
      const auto truncated = [&](int i) {
        return static_cast<uint32_t>(p.cost * min(abs(own - partners[-i]), p.truncation));
      };
      uint4 costs;
#pragma unroll
      for (int word = 0; word < kWords; ++word)
        wordOf(costs, word) = pairOf(truncated(2 * word), truncated(2 * word + 1));
      cells[eight * shape.pixels()] = costs;
    } else {
      cells[eight * shape.pixels()] = cellsOf(costOf, eight, shape.numDisparities);
    }
  }
}

/// A cell c as the number 2^23 + c, whose bits are kBiasBits | c.
constexpr uint32_t kBiasBits = 0x4b000000u;
constexpr float kBias = 8388608.f;
/// What a sum of three cells with this bias begins at, so that it stays between 2^23 and 2^24 from its first addend on (the
/// pixel's own, whose weight is a third or more), and the bias that it ends with: 2^7 (2^16 - 1) more.
constexpr float kBiasedStart = 7340160.f, kBiasedEnd = 15728640.f;

/// A pixel's eight cells.
struct Cells {
  float cell[kEight];
  /// With kBias.
  __device__ __forceinline__ void takeBiased(uint4 pairs) {
#pragma unroll
    for (int i = 0; i < kEight; ++i)
      cell[i] = __uint_as_float(__byte_perm(wordOf(pairs, i / 2), kBiasBits, i % 2 == 0 ? 0x7610 : 0x7632));
  }
  __device__ __forceinline__ void without(float bias) {
#pragma unroll
    for (int i = 0; i < kEight; ++i) cell[i] -= bias;
  }
  /// The lower halves of their bits.
  __device__ __forceinline__ uint4 pairs() const {
    uint4 both;
#pragma unroll
    for (int word = 0; word < kWords; ++word)
      wordOf(both, word) = __byte_perm(__float_as_uint(cell[2 * word]), __float_as_uint(cell[2 * word + 1]), 0x5410);
    return both;
  }
};

/// A third each of 2^16 - 1 and as parts of 2^16: exact.
struct Weights {
  float before, centre, after;
  __device__ __forceinline__ explicit Weights(uint32_t both) {
    const float scale = 1.f / 65536;
    before = __fmaf_rd(__uint_as_float(__byte_perm(both, kBiasBits, 0x7610)), scale, -kBias * scale);
    after = __fmaf_rd(__uint_as_float(__byte_perm(both, kBiasBits, 0x7632)), scale, -kBias * scale);
    centre = 65535 * scale - before - after;
  }
};

/// start + the three products, each rounded down: from 2^23 to 2^24 a number's last bit is 1, so a sum that is rounded down is.
__device__ __forceinline__ void average(const Weights& w, const Cells& before, const Cells& centre, const Cells& after,
                                        float start, Cells& out) {
#pragma unroll
  for (int i = 0; i < kEight; ++i) {
    float sum = __fmaf_rd(w.centre, centre.cell[i], start);
    sum = __fmaf_rd(w.before, before.cell[i], sum);
    out.cell[i] = __fmaf_rd(w.after, after.cell[i], sum);
  }
}

/// A round: along x where weightsX is there, then along y where weightsY is. Its first one may have no cells to read: firstRoundKernel.
struct Round {
  const uint4* from;
  uint4* to;
  const uint32_t *weightsX, *weightsY;
  int step, segmentRows;
  Shape shape;
};

/// What the first round makes its costs from: grey images, packed rows.
struct Costs {
  const uint8_t *left, *right;
  int minDisparity;
  float truncation, cost;
};

/// What a thread reads of a row before it averages along x.
struct RawRow {
  uint4 before, centre, after;
  uint32_t weights;
};

/// Bytes from the volume's begin: one addition to an address that all threads share. Both volumes are more than the second-level
/// cache holds, and nobody needs a round's input behind it: the cache may give it up first.
__device__ __forceinline__ uint4 cellsAt(const uint4* cells, uint32_t pixel) {
  const auto* at = reinterpret_cast<const uint4*>(reinterpret_cast<const uint8_t*>(cells) + 16 * pixel);
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  return __ldcs(at);
#else
  return *at;
#endif
}

/// Where the neighbours along x lie, from a pixel on. One outside the image weighs nothing; the pixel stands in for it.
struct Sides {
  uint32_t before, after;
  __device__ __forceinline__ Sides(const Round& round, int x)
      : before(x >= round.step ? 0u - static_cast<uint32_t>(round.step) : 0u),
        after(x + round.step < round.shape.width ? static_cast<uint32_t>(round.step) : 0u) {}
};

template <bool kAlongX>
__device__ __forceinline__ void readRow(const Round& round, const uint4* from, uint32_t at, const Sides& sides,
                                        RawRow& row) {
  row.centre = cellsAt(from, at);
  if (!kAlongX) return;
  row.before = cellsAt(from, at + sides.before);
  row.after = cellsAt(from, at + sides.after);
  row.weights = round.weightsX[at];
}

/// Averaged along x, without a bias where kPlain, else with one that the lower halves do not show.
template <bool kAlongX, bool kPlain>
__device__ __forceinline__ void alongX(const RawRow& row, Cells& out) {
  out.takeBiased(row.centre);
  if (kAlongX) {
    Cells before, after;
    before.takeBiased(row.before);
    after.takeBiased(row.after);
    average(Weights(row.weights), before, out, after, kBiasedStart, out);
  }
  if (kPlain) out.without(kAlongX ? kBiasedEnd : kBias);
}

/// What a row's costs are made from: the left image's three pixels, and the right image's that they meet, from the right.
struct CostRow {
  uint32_t left[3], right[kEight + 2], weights;
};

__device__ __forceinline__ void readCosts(const Round& round, const Costs& costs, int x, uint32_t at, CostRow& row) {
  const uint8_t *const left = costs.left + (at - x), *const right = costs.right + (at - x);
  const int last = round.shape.width - 1;
  const int partner =
      x - costs.minDisparity - kEight * static_cast<int>(blockIdx.z) + 1;  // of the pixel after, lowest d
#pragma unroll
  for (int i = 0; i < 3; ++i) row.left[i] = left[min(max(x - 1 + i, 0), last)];
#pragma unroll
  for (int i = 0; i < kEight + 2; ++i) row.right[i] = right[static_cast<uint32_t>(min(max(partner - i, 0), last))];
  row.weights = round.weightsX[at];
}

/// Costs of three pixels averaged along x, without a bias. Those of disparities that are not searched are numbers that nobody
/// reads.
__device__ __forceinline__ void costsAlongX(const Costs& costs, const CostRow& row, Cells& out) {
  float left[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) left[i] = __uint_as_float(row.left[i] | kBiasBits);
  // Exact: all are whole numbers below 2^16, or that with the bias.
  const auto cellOf = [&](float own, uint32_t partner) {
    const float apart = fabsf(own - __uint_as_float(partner | kBiasBits));
    return __fmaf_rd(fminf(apart, costs.truncation), costs.cost, kBias);
  };
  const Weights w(row.weights);
#pragma unroll
  for (int i = 0; i < kEight; ++i) {
    float sum = __fmaf_rd(w.centre, cellOf(left[1], row.right[i + 1]), kBiasedStart);
    sum = __fmaf_rd(w.before, cellOf(left[0], row.right[i + 2]), sum);
    out.cell[i] = __fmaf_rd(w.after, cellOf(left[2], row.right[i]), sum);
  }
  out.without(kBiasedEnd);
}

/// From `first` to before `end` in steps of `apart`, down a column: rows averaged along x, three of them along y. rowOf(at, cells)
/// gives one, and is asked for none outside the image: such a row has no weight, and whatever number stands for it does. A row is
/// read where it is used; one read ahead would have to be moved from register to register, a sixth of all instructions.
template <class RowOf>
__device__ __forceinline__ void goDown(const Round& round, uint4* to, int first, int end, int apart, int x,
                                       const RowOf& rowOf) {
  const int height = round.shape.height, width = round.shape.width;
  const uint32_t stride = static_cast<uint32_t>(apart * width);
  int y = first;
  uint32_t at = static_cast<uint32_t>(first * width + x);
  Cells cells[3];
#pragma unroll
  for (int i = 0; i < kEight; ++i) cells[0].cell[i] = cells[2].cell[i] = 0.f;
  uint32_t weights = round.weightsY[at];
  if (first >= apart) rowOf(at - stride, cells[0]);
  rowOf(at, cells[1]);
  // Three rows a turn, so that none is moved either.
  const auto step = [&](const Cells& before, const Cells& centre, Cells& after) {
    const uint32_t own = at, both = weights;
    y += apart, at += stride;
    if (y < height) {
      weights = round.weightsY[at];
      rowOf(at, after);
    }
    Cells out;
    average(Weights(both), before, centre, after, kBias, out);
    to[own] = out.pairs();
    return y < end;
  };
  while (step(cells[0], cells[1], cells[2]) && step(cells[1], cells[2], cells[0]) &&
         step(cells[2], cells[0], cells[1])) {}
}

/// The first round, of step 1: costs without gradients or messages are made where they are averaged, and never stored.
/// blockIdx: part of a row; segment of rows; eight disparities.
__global__ void __launch_bounds__(kMaxAcross, kRoundBlocks) firstRoundKernel(Round round, Costs costs) {
  untilKernelBefore();
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= round.shape.width) return;
  const int first = static_cast<int>(blockIdx.y) * round.segmentRows;
  const int end = min(first + round.segmentRows, round.shape.height);
  if (first >= end) return;
  goDown(round, round.to + blockIdx.z * round.shape.pixels(), first, end, 1, x, [&](uint32_t at, Cells& out) {
    CostRow row;
    readCosts(round, costs, x, at, row);
    costsAlongX(costs, row, out);
  });
}

/// blockIdx: part of a row; chain of rows and its segment; eight disparities.
template <bool kAlongX, bool kAlongY>
__global__ void __launch_bounds__(kMaxAcross, kRoundBlocks) roundKernel(Round round) {
  untilKernelBefore();
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= round.shape.width) return;
  const int apart = kAlongY ? round.step : 1, height = round.shape.height, width = round.shape.width;
  const int segment = static_cast<int>(blockIdx.y) / apart, residue = static_cast<int>(blockIdx.y) % apart;
  const int first = residue + segment * round.segmentRows * apart;
  const int end = min(first + round.segmentRows * apart, height);
  const uint4* from = round.from + blockIdx.z * round.shape.pixels();
  uint4* to = round.to + blockIdx.z * round.shape.pixels();
  if (first >= end) return;
  const Sides sides(round, x);
  if (kAlongY) {
    goDown(round, to, first, end, apart, x, [&](uint32_t at, Cells& out) {
      RawRow row;
      readRow<kAlongX>(round, from, at, sides, row);
      alongX<kAlongX, true>(row, out);
    });
    return;
  }
  uint32_t at = static_cast<uint32_t>(first * width + x);
  for (int y = first; y < end; ++y, at += static_cast<uint32_t>(width)) {
    RawRow row;
    readRow<kAlongX>(round, from, at, sides, row);
    Cells own;
    alongX<kAlongX, false>(row, own);
    to[at] = own.pairs();
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

/// Eights of a pixel that a thread holds at a time.
constexpr int kHeld = 8;

/// Cells of a pixel from the eight `first` on; what is not searched is above or equal to every cell.
__device__ __forceinline__ void hold(const uint4* own, size_t pixels, int first, int count, uint4 (&held)[kHeld]) {
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    held[i] = make_uint4(~0u, ~0u, ~0u, ~0u);
    if (kEight * (first + i) < count) held[i] = own[static_cast<size_t>(first + i) * pixels];
  }
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int d = kEight * (first + i);
    if (d >= count || d + kEight <= count) continue;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      if (d + 2 * word >= count) wordOf(held[i], word) = ~0u;
      if (d + 2 * word + 1 >= count) wordOf(held[i], word) |= 0xffff0000u;
    }
  }
}

__global__ void __launch_bounds__(128)
    winnersKernel(const uint4* cells, ExponentialDeviceResult result, Shape shape, int minDisparity, bool subpixel) {
  untilKernelBefore();
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const size_t at = static_cast<size_t>(y) * shape.width + x, pixels = shape.pixels();
  const uint4* own = cells + at;
  const int count = shape.numDisparities, eights = (count + kEight - 1) / kEight;
  uint4 held[kHeld];
  // A cell above its place: the least key is the lowest disparity of the least cell.
  uint32_t key = ~0u;
  for (int first = 0; first < eights; first += kHeld) {
    hold(own, pixels, first, count, held);
#pragma unroll
    for (int i = 0; i < kHeld * kWords; ++i) {
      const uint32_t d = static_cast<uint32_t>(kEight * first + 2 * i), pair = wordOf(held[i / kWords], i % kWords);
      key = min(key, min(pairOf(d, pair), (pair & 0xffff0000u) | (d + 1)));
    }
  }
  const int place = static_cast<int>(key & 0xffffu), least = static_cast<int>(key >> 16);
  // The least of the others, the winner's neighbours aside.
  uint32_t rivals = ~0u;
  for (int first = 0; first < eights; first += kHeld) {
    if (eights > kHeld) hold(own, pixels, first, count, held);
#pragma unroll
    for (int i = 0; i < kHeld * kWords; ++i) {
      const auto from = static_cast<uint32_t>(place + 1 - kEight * first - 2 * i);
      const uint32_t aside = (from < 3u ? 0xffffu : 0u) | (from - 1u < 3u ? 0xffff0000u : 0u);
      rivals = CellU16::min(rivals, wordOf(held[i / kWords], i % kWords) | aside);
    }
  }
  const int second = static_cast<int>(min(rivals & 0xffffu, rivals >> 16));
  int fine = 0;
  if (subpixel && place > 0 && place + 1 < count)
    fine = fractionQ4(cellOf(own, pixels, place - 1), least, cellOf(own, pixels, place + 1));
  result.disparity[at] = static_cast<int16_t>(minDisparity + place);
  result.disparityQ4[at] = static_cast<int16_t>(16 * (minDisparity + place) + fine);
  const bool rivalled = place > 1 || place + 2 < count;
  result.confidence[at] = rivalled ? static_cast<uint8_t>(confidenceOf(least, second)) : uint8_t{0};
  if (result.rightDisparity == nullptr) return;
  // This thread's column as the right image's.
  int best = kNothing, right = kInvalidDisparity;
  for (int d = 0; d < count && x + minDisparity + d < shape.width; ++d) {
    const int cell = cellOf(own + minDisparity + d, pixels, d);
    if (cell < best) best = cell, right = minDisparity + d;
  }
  result.rightDisparity[at] = static_cast<int16_t>(right);
}

}  // namespace

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
  const unsigned eights = static_cast<unsigned>((p_.numDisparities + kEight - 1) / kEight);
  const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(roundKernel<true, true>));
  LaunchShape pixelsShape = {dim3((width_ + kBlockX - 1) / kBlockX, (height_ + kBlockY - 1) / kBlockY), block, 0,
                             stream, overlaps};
  const Preparation preparation = {
      left, right, leftRgb, devicePasses_.get(), weights_.get(), cells_[0].get(), static_cast<int>(passes_.size())};
  const bool makesCosts = p_.slope == 0 && p_.gradientCost == 0 && !rounds_.empty() && rounds_[0].step == 1 &&
                          rounds_[0].passX >= 0 && rounds_[0].passY >= 0;
  pixelsShape.grid.z = static_cast<unsigned>(partsOf(preparation.passCount)) + (makesCosts     ? 0
                                                                                : p_.slope > 0 ? 1
                                                                                               : eights);
  DEPTHWATT_TRY(launch("prepareKernel", p_.slope > 0 ? prepareKernel<true> : prepareKernel<false>, pixelsShape,
                       preparation, shape, p_));
  Round round = {cells_[0].get(), cells_[1].get(), nullptr, nullptr, 0, 0, shape};
  for (const ExponentialRound& one : rounds_) {
    const bool x = one.passX >= 0, y = one.passY >= 0;
    round.weightsX = x ? weights_.get() + one.passX * pixels : nullptr;
    round.weightsY = y ? weights_.get() + one.passY * pixels : nullptr;
    round.step = one.step, round.segmentRows = one.segmentRows;
    const dim3 parts((width_ + across_ - 1) / across_, (y ? one.step : 1) * one.segments, eights);
    const LaunchShape roundShape = {parts, dim3(across_), 0, stream, overlaps};
    if (makesCosts && &one == rounds_.data()) {
      const Costs costs = {left, right, p_.minDisparity, static_cast<float>(p_.truncation),
                           static_cast<float>(p_.cost)};
      DEPTHWATT_TRY(launch("firstRoundKernel", firstRoundKernel, roundShape, round, costs));
    } else {
      const auto kernel = x && y ? roundKernel<true, true> : x ? roundKernel<true, false> : roundKernel<false, true>;
      DEPTHWATT_TRY(launch("roundKernel", kernel, roundShape, round));
    }
    uint4* const next = const_cast<uint4*>(round.from);
    round.from = round.to, round.to = next;
  }
  pixelsShape.grid.z = 1;
  return launch("winnersKernel", winnersKernel, pixelsShape, round.from, result, shape, p_.minDisparity, p_.subpixel);
}

}  // namespace gpu
}  // namespace depthwatt
