// SPDX-License-Identifier: Apache-2.0
// Hole filling on CUDA; see fill.h.
// One thread fills one pixel: a hole's pixels walk to its two ends, which are few steps away and in the first-level cache.
// Out of place, so that nobody reads what another thread filled; empty rows are found and copied by kernels of their own.
#include "fill.h"

#include "../../gpu/kernels.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kInvalid = kInvalidDisparity;
constexpr int kSlopePixels = 32, kFewestSlopePixels = 16, kSteepestQ4 = 2, kStepQ4 = 16;

__device__ __forceinline__ int floorDivided(int numerator, int denominator) {
  const int quotient = numerator / denominator;
  return numerator % denominator != 0 && numerator < 0 ? quotient - 1 : quotient;
}

__device__ int extrapolated(const FillParameters& p, const int16_t* row, int width, int end, int x) {
  int n = 1;
  while (n < kSlopePixels && end + n < width && row[end + n] != kInvalid &&
         abs(row[end + n] - row[end + n - 1]) <= kStepQ4) {
    ++n;
  }
  const int half = n / 2;
  int value = row[end];
  if (2 * half >= kFewestSlopePixels) {
    int rise = 0;
    for (int k = 0; k < half; ++k) rise += row[end + half + k] - row[end + k];
    const int area = half * half;
    rise = min(max(rise, -kSteepestQ4 * area), kSteepestQ4 * area);
    value -= floorDivided(2 * (end - x) * rise + area, 2 * area);
  }
  return min(max(value, p.lowestQ4), p.highestQ4);
}

__global__ void __launch_bounds__(256) fillKernel(FillParameters p, const uint8_t* grey, const int16_t* in, int16_t* out,
                                                  uint8_t* confidence, int width, int strip) {
  const int x = blockIdx.x * 256 + threadIdx.x;
  if (x >= width) return;
  const size_t first = static_cast<size_t>(blockIdx.y) * width;
  const int16_t* row = in + first;
  if (x < strip) confidence[first + x] = 0;
  else if (row[x] != kInvalid) {
    out[first + x] = row[x];
    return;
  }
  int left = x, right = x < strip ? strip : x;
  while (left >= strip && row[left] == kInvalid) --left;
  while (right < width && row[right] == kInvalid) ++right;
  const bool hasLeft = left >= strip, hasRight = right < width, background = p.method == FillMethod::kBackground;
  int value = kInvalid;
  if (hasLeft && hasRight) {
    const int l = row[left], r = row[right], i = x - left, j = right - x;
    const int step = abs(l - r);
    if (step <= p.thresholdQ4 && (!background || 4 * (right - left - 1) > step)) {
      value = l + floorDivided(2 * i * (r - l) + i + j, 2 * (i + j));
    } else if (background) {
      value = min(l, r);
    } else {
      const int own = grey[first + x];
      value = abs(grey[first + left] - own) <= abs(grey[first + right] - own) ? l : r;
    }
  } else if (hasLeft) {
    value = row[left];
  } else if (hasRight) {
    value = background ? extrapolated(p, row, width, right, x) : row[right];
  }
  out[first + x] = static_cast<int16_t>(value);
}

/// A row is full or wholly empty by now: its first pixel tells.
__global__ void __launch_bounds__(256) fillEmptyRowsKernel(const int16_t* out, int32_t* empty, int width, int height) {
  const int y = blockIdx.x * 256 + threadIdx.x;
  if (y < height) empty[y] = out[static_cast<size_t>(y) * width] == kInvalid;
}

__global__ void __launch_bounds__(256) fillCopyRowsKernel(int16_t* out, const int32_t* empty, int width, int height) {
  const int x = blockIdx.x * 256 + threadIdx.x, y = blockIdx.y;
  if (x >= width || empty[y] == 0) return;
  int source = y;
  while (source >= 0 && empty[source] != 0) --source;
  if (source < 0) {
    source = y;
    while (source < height && empty[source] != 0) ++source;
  }
  if (source < height) out[static_cast<size_t>(y) * width + x] = out[static_cast<size_t>(source) * width + x];
}

}  // namespace

Status fill(const FillParameters& parameters, const uint8_t* grey, const int16_t* in, int16_t* out, uint8_t* confidence,
            int32_t* scratch, int32_t width, int32_t height, cudaStream_t stream) {
  int strip = 0;
  if (parameters.method == FillMethod::kBackground) {
    strip = parameters.lowestQ4 / 16 + kFewestCandidates;
    if (strip > width / 8) strip = width / 8;
  }
  const dim3 grid((width + 255) / 256, height);
  fillKernel<<<grid, 256, 0, stream>>>(parameters, grey, in, out, confidence, width, strip);
  fillEmptyRowsKernel<<<(height + 255) / 256, 256, 0, stream>>>(out, scratch, width, height);
  fillCopyRowsKernel<<<grid, 256, 0, stream>>>(out, scratch, width, height);
  return launched("fill kernels");
}

}  // namespace gpu
}  // namespace depthwatt
