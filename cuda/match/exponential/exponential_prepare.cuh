// SPDX-License-Identifier: Apache-2.0
// Prepares the rounds of exponential.cu: the weights of all passes, and costs or messages unless the first round
// computes the costs. The thread that computes a pixel's costs also turns them into messages.
#pragma once

#include "../../device/traits.h"
#include "exponential_cells.cuh"

namespace depthwatt {
namespace gpu {
namespace {

/// Passes whose weights one thread computes: it reads its pixel's colour once and shares addresses between passes.
constexpr int kPassesPerThread = 6;

__device__ int colourDifference(Rgb8 a, Rgb8 b) {
  return max(max(abs(a.red - b.red), abs(a.green - b.green)), abs(a.blue - b.blue));
}

/// In halves of a unit of CIELab.
__device__ int colourDifference(Lab p, Lab q) {
  const int l = p.lightness - q.lightness, a = p.a - q.a, b = p.b - q.b, square = 4 * (l * l + a * a + b * b);
  // Twice the distance; the estimate is at most one off.
  int root = static_cast<int>(sqrtf(static_cast<float>(square)));
  root += (root + 1) * (root + 1) <= square ? 1 : root * root > square ? -1 : 0;
  return (root + 1) >> 1;
}

/// CIELab of every pixel, before prepareKernel<., Lab>.
__global__ void __launch_bounds__(128) labKernel(const Rgb8* rgb, const LabTables* tables, Lab* lab, int pixels) {
  untilKernelBefore();
  const int at = blockIdx.x * 128 + threadIdx.x;
  if (at >= pixels) return;
  const Rgb8 pixel = rgb[at];
  const uint32_t red = tables->light[pixel.red], green = tables->light[pixel.green], blue = tables->light[pixel.blue];
  const auto root = [&](int i) -> int {
    const int* w = tables->weights[i];
    return tables->roots[(w[0] * red + w[1] * green + w[2] * blue + 32768u) >> 16];
  };
  const int x = root(0), y = root(1), z = root(2);
  Lab one;
  one.lightness = static_cast<int16_t>((232 * y - (1 << 19) + (1 << 13)) >> 14);
  one.a = static_cast<int16_t>((1000 * (x - y) + (1 << 13)) >> 14);
  one.b = static_cast<int16_t>((400 * (y - z) + (1 << 13)) >> 14);
  one.unused = 0;
  lab[at] = one;
}

/// Returns 65535 * 4096 / divisor, rounded down, for a divisor of 4096 to 12288.
__device__ __forceinline__ uint32_t scaledReciprocal(uint32_t divisor) {
  constexpr int kDividend = 65535 * 4096;
  // At most one off: seventeen bits of a quotient with twenty-two correct ones.
  const auto quotient = static_cast<uint32_t>(__fdividef(static_cast<float>(kDividend), static_cast<float>(divisor)));
  const int rest = kDividend - static_cast<int>(quotient * divisor);
  return rest < 0 ? quotient - 1 : rest >= static_cast<int>(divisor) ? quotient + 1 : quotient;
}

/// Eq. 18 to 21 for one pixel, two disparities at a time.
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

/// Stores disparities [8 eight, 8 eight + 8) of a pixel; 0 for those outside the search.
template <class CostFunction>
__device__ __forceinline__ uint4 packCells(const CostFunction& costAt, int eight, int numDisparities) {
  uint4 cells = make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int word = 0; word < kWords; ++word) {
    const int d = kEight * eight + 2 * word;
    const uint32_t low = d < numDisparities ? costAt(d) : 0u, high = d + 1 < numDisparities ? costAt(d + 1) : 0u;
    cellWord(cells, word) = low | high << 16;
  }
  return cells;
}

/// Turns the cells of all a pixel's disparities into messages: first from lower disparities, with the values of costAt,
/// then from higher ones.
template <class CostFunction>
__device__ __forceinline__ void makeMessages(const CostFunction& costAt, uint4* cells, size_t pixels,
                                             int numDisparities, int slope, int cap) {
  Messages messages(slope);
  const int eights = (numDisparities + kEight - 1) / kEight;
  for (int eight = 0; eight < eights; ++eight) {
    cells[eight * pixels] = packCells(
        [&](int d) { return static_cast<uint32_t>(messages.up(static_cast<int>(costAt(d)))); }, eight, numDisparities);
  }
  const int limit = messages.least + cap;
  messages.running = kNothing;
  for (int eight = eights - 1; eight >= 0; --eight) {
    uint4 own = cells[eight * pixels];
#pragma unroll
    for (int word = kWords - 1; word >= 0; --word) {
      const int d = kEight * eight + 2 * word;
      const uint32_t was = cellWord(own, word);
      uint32_t low = 0, high = 0;
      if (d + 1 < numDisparities) high = static_cast<uint32_t>(messages.down(static_cast<int>(was >> 16), limit));
      if (d < numDisparities) low = static_cast<uint32_t>(messages.down(static_cast<int>(was & 0xffffu), limit));
      cellWord(own, word) = low | high << 16;
    }
    cells[eight * pixels] = own;
  }
}

/// Colour: Rgb8 or Lab.
template <class Colour>
struct Preparation {
  const uint8_t *left, *right;
  const Colour* colours;
  const ExponentialPass* passes;
  uint32_t* weights;
  uint4* cells;
  int passCount;
};

/// Returns the threads per pixel that compute weights.
__host__ __device__ inline int partCount(int passCount) {
  return (passCount + kPassesPerThread - 1) / kPassesPerThread;
}

/// Computes for a pixel and up to kPassesPerThread passes the weights of the neighbour before (low half) and after.
template <class Colour>
__device__ __forceinline__ void makeWeights(const Preparation<Colour>& from, int first, int x, int y,
                                            const Shape& shape) {
  const int at = y * shape.width + x, last = min(from.passCount, first + kPassesPerThread);
  const Colour own = from.colours[at];
  uint32_t* to = from.weights + first * shape.pixels() + at;
#pragma unroll 2
  for (int i = first; i < last; ++i, to += shape.pixels()) {
    const ExponentialPass& pass = from.passes[i];
    const int step = pass.step, offset = pass.alongX ? step : step * shape.width;
    const int place = pass.alongX ? x : y, end = pass.alongX ? shape.width : shape.height;
    // A neighbour outside the image has no weight; the pixel itself is read instead, without a branch.
    const bool hasBefore = place >= step, hasAfter = place + step < end;
    const Colour colourBefore = from.colours[hasBefore ? at - offset : at];
    const Colour colourAfter = from.colours[hasAfter ? at + offset : at];
    uint32_t before = pass.weights[colourDifference(own, colourBefore)];
    uint32_t after = pass.weights[colourDifference(own, colourAfter)];
    before = hasBefore ? before : 0u, after = hasAfter ? after : 0u;
    const uint32_t reciprocal = scaledReciprocal(4096u + before + after);
    *to = before * reciprocal >> 12 | (after * reciprocal >> 12) << 16;
  }
}

/// blockIdx.z: some passes' weights, and after them eight disparities' costs, or all messages.
template <bool kMessages, class Colour>
__global__ void __launch_bounds__(128, 12)
    prepareKernel(Preparation<Colour> from, Shape shape, ExponentialParameters p) {
  untilKernelBefore();
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const int weightParts = partCount(from.passCount);
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
  const auto gradientAt = [lastColumn](const uint8_t* line, int at) {
    return (line[min(at + 1, lastColumn)] - line[max(at - 1, 0)] + 255) >> 1;
  };
  const bool gradients = p.gradientCost > 0;
  const int ownGradient = gradients ? gradientAt(left + static_cast<size_t>(y) * shape.width, x) : 0;
  const auto costAt = [=](int d) {
    const int partner = max(x - p.minDisparity - d, 0);
    int cost = p.cost * min(abs(own - row[partner]), p.truncation);
    if (gradients) cost += p.gradientCost * min(abs(ownGradient - gradientAt(row, partner)), p.gradientTruncation);
    return static_cast<uint32_t>(cost);
  };
  if (kMessages) {
    makeMessages(costAt, cells, shape.pixels(), shape.numDisparities, p.slope, p.cap);
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
        cellWord(costs, word) = packPair(truncated(2 * word), truncated(2 * word + 1));
      cells[eight * shape.pixels()] = costs;
    } else {
      cells[eight * shape.pixels()] = packCells(costAt, eight, shape.numDisparities);
    }
  }
}

}  // namespace
}  // namespace gpu
}  // namespace depthwatt
