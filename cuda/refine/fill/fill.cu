// SPDX-License-Identifier: Apache-2.0
// Hole filling on CUDA; see fill.h.
// A block fills a row. Its threads first store a bit per pixel, valid or not, in shared memory, so that the two ends of
// a hole are found by counting leading and trailing zeros, a word for 32 pixels. The ends of holes are collected in a
// list, so that their medians are found in parallel, and a warp finds the slope next to the row's first hole. The
// result is another image, so no thread reads filled pixels; a separate kernel copies empty rows.
#include "fill.h"

#include "fill_gpu.h"
#include "../../device/launch.cuh"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kInvalid = kInvalidDisparity;
constexpr int kFillThreads = 256, kRowsAtOnce = 8, kLoads = 3;
constexpr int kSlopePixels = 32, kFewestSlopePixels = 16, kSteepestQ4 = 2, kStepQ4 = 16;

__device__ __forceinline__ int floorDivided(int numerator, int denominator) {
  const int quotient = numerator / denominator;
  return numerator % denominator != 0 && numerator < 0 ? quotient - 1 : quotient;
}

/// Per valid pixel: its value as the left end of the hole after it, and as the right end of the one before it. For a
/// hole's first pixel `left` is the place of the hole's strongest edge, or -1.
struct HoleEnds {
  int16_t left, right;
};

/// Returns the lower median of the valid disparities around a hole's end at (e, y); see fill.h. @param away -1 at a
/// left end, 1 at a right one
__device__ __forceinline__ int robustEnd(const uint8_t* grey, const int16_t* in, int width, int height, int strip,
                                         int e, int y, int away) {
  constexpr int kRows = 2 * kEndRows + 1, kCount = kEndColumns * kRows, kNone = 0x7fffffff;
  int values[kCount];  // first a disparity and a grey value in one
  // Places outside are clamped to the image, so that no load waits for a decision.
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    const int x = min(max(e + away * (k % kEndColumns), 0), width - 1);
    const int j = min(max(y + k / kEndColumns - kEndRows, 0), height - 1);
    const int at = j * width + x;
    values[k] = in[at] * 256 + grey[at];
  }
  const int own = values[kEndRows * kEndColumns] >> 8, greyOfEnd = values[kEndRows * kEndColumns] & 255;
  int n = 0, low = own, high = own;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    const int x = e + away * (k % kEndColumns), j = y + k / kEndColumns - kEndRows;
    const int value = values[k] >> 8;
    const bool counts = x >= strip && x < width && j >= 0 && j < height && value != kInvalid &&
                        abs((values[k] & 255) - greyOfEnd) <= kEndGrey;
    low = counts ? min(low, value) : low;
    high = counts ? max(high, value) : high;
    n += counts ? 1 : 0;
    values[k] = counts ? value : kNone;
  }
  if (n < kFewestEnd) return own;
  // The smallest value that more than `rank` values do not exceed.
  const int rank = (n - 1) / 2;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    int count = 0;
#pragma unroll
    for (int k = 0; k < kCount; ++k) count += values[k] <= middle;
    if (count > rank) high = middle;
    else low = middle + 1;
  }
  return low;
}

/// The slope of the pixels from `end` on, a row's first valid one: a clamped rise over an area, or no area if they are
/// too few.
struct Slope {
  int rise, area;
};

/// Each lane reads one pixel.
__device__ __forceinline__ Slope rowSlope(const int16_t* row, int width, int end) {
  static_assert(kSlopePixels == 32, "a warp");
  const int lane = threadIdx.x % 32, x = end + lane;
  const int value = x < width ? row[x] : kInvalid;
  const int before = __shfl_up_sync(kFullWarp, value, 1);
  const bool goesOn = lane == 0 || (value != kInvalid && abs(value - before) <= kStepQ4);
  const uint32_t ends = ~__ballot_sync(kFullWarp, goesOn);
  const int n = ends == 0 ? kSlopePixels : __ffs(static_cast<int>(ends)) - 1, half = n / 2;
  int rise = lane < half ? -value : lane < 2 * half ? value : 0;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) rise += __shfl_xor_sync(kFullWarp, rise, offset);
  if (2 * half < kFewestSlopePixels) return {0, 0};
  const int area = half * half;
  return {min(max(rise, -kSteepestQ4 * area), kSteepestQ4 * area), area};
}

/// @param from the value of the hole's end, `distance` pixels to the right
__device__ __forceinline__ int extrapolated(const FillParameters& p, Slope slope, int distance, int from) {
  if (slope.area > 0) from -= floorDivided(2 * distance * slope.rise + slope.area, 2 * slope.area);
  return min(max(from, p.lowestQ4), p.highestQ4);
}

/// Returns the place of the last valid pixel up to x, or -1.
__device__ __forceinline__ int validBefore(const uint32_t* valid, int x) {
  int word = x / 32;
  uint32_t bits = valid[word] & (~0u >> (31 - x % 32));
  while (bits == 0 && word > 0) bits = valid[--word];
  return bits == 0 ? -1 : 32 * word + 31 - __clz(bits);
}

/// Returns the place of the first valid pixel from x on, or `width` or more.
__device__ __forceinline__ int validFrom(const uint32_t* valid, int x, int words, int width) {
  int word = x / 32;
  uint32_t bits = valid[word] & (~0u << x % 32);
  while (bits == 0 && ++word < words) bits = valid[word];
  return bits == 0 ? width : 32 * word + __ffs(bits) - 1;
}

/// Returns the place of the strongest edge between the valid pixels `left` and `right`, or -1 if none is strong enough;
/// see fill.h. The lanes of a warp check 32 places at once.
__device__ __forceinline__ int edgeBetween(const uint8_t* grey, int left, int right) {
  // The larger edge first, then the place further left.
  int strongest = kFillEdge * 65536 - 1;
#pragma unroll 1
  for (int x = left + 1 + threadIdx.x % 32; x <= right; x += 32) {
    const int edge = abs(grey[x] + grey[min(x + 1, right)] - grey[x - 1] - grey[max(x - 2, left)]);
    strongest = max(strongest, edge * 65536 + 65535 - x);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    strongest = max(strongest, __shfl_xor_sync(kFullWarp, strongest, offset));
  }
  return strongest < kFillEdge * 65536 ? -1 : 65535 - strongest % 65536;
}

__global__ void __launch_bounds__(kFillThreads, kFillBlocks)
    fillKernel(FillParameters p, const uint8_t* grey, const int16_t* in, int16_t* out, uint8_t* confidence,
               int32_t* empty, HoleEnds* ends, int width, int height, int strip) {
  extern __shared__ __align__(16) uint32_t valid[];
  __shared__ int leftEnds, rightEnds;
  __shared__ Slope slope;
  const int y = static_cast<int>(blockIdx.x), words = (width + 31) / 32;
  const int first = y * width;
  // Left ends from its start, right ends from its end.
  uint16_t* const list = reinterpret_cast<uint16_t*>(valid + words);
  untilKernelBefore();
  if (threadIdx.x == 0) leftEnds = rightEnds = 0;
  for (int base = 0; base < width; base += kLoads * kFillThreads) {
    int values[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k)
      values[k] = in[first + min(base + k * kFillThreads + static_cast<int>(threadIdx.x), width - 1)];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const int x = base + k * kFillThreads + static_cast<int>(threadIdx.x);
      const uint32_t bits = __ballot_sync(kFullWarp, x >= strip && x < width && values[k] != kInvalid);
      if (x % 32 == 0 && x < width) valid[x / 32] = bits;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) empty[y] = validFrom(valid, 0, words, width) == width;
  const bool background = p.method == FillMethod::kBackground;
  const auto isValid = [&](int x) { return (valid[x / 32] >> x % 32 & 1) != 0; };
  if (background) {
    for (int x = threadIdx.x; x < width; x += kFillThreads) {
      if (!isValid(x)) continue;
      if (x + 1 < width && !isValid(x + 1)) list[atomicAdd(&leftEnds, 1)] = static_cast<uint16_t>(x);
      if (x > 0 && !isValid(x - 1)) list[width - 1 - atomicAdd(&rightEnds, 1)] = static_cast<uint16_t>(x);
    }
    if (threadIdx.x / 32 == kFillThreads / 32 - 1) {
      const Slope found = rowSlope(in + first, width, validFrom(valid, 0, words, width));
      if (threadIdx.x % 32 == 0) slope = found;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < leftEnds + rightEnds; i += kFillThreads) {
      const bool isLeft = i < leftEnds;
      const int e = list[isLeft ? i : width - 1 - (i - leftEnds)];
      const auto end = static_cast<int16_t>(robustEnd(grey, in, width, height, strip, e, y, isLeft ? -1 : 1));
      if (isLeft) ends[first + e].left = end;
      else ends[first + e].right = end;
    }
    for (int i = threadIdx.x / 32; i < leftEnds; i += kFillThreads / 32) {
      const int left = list[i], right = validFrom(valid, left + 1, words, width);
      if (right >= width) continue;
      const int edge = edgeBetween(grey + first, left, right);
      if (threadIdx.x % 32 == 0) ends[first + left + 1].left = static_cast<int16_t>(edge);
    }
    __syncthreads();
  }
  for (int x = threadIdx.x; x < width; x += kFillThreads) {
    if (x < strip) confidence[first + x] = 0;
    if (isValid(x)) {
      out[first + x] = in[first + x];
      continue;
    }
    const int left = validBefore(valid, x), right = validFrom(valid, x, words, width);
    const bool hasLeft = left >= 0, hasRight = right < width;
    int value = kInvalid;
    const int l = !hasLeft ? 0 : background ? ends[first + left].left : in[first + left];
    const int r = !hasRight ? 0 : background ? ends[first + right].right : in[first + right];
    if (hasLeft && hasRight) {
      const int i = x - left, j = right - x;
      const int step = abs(l - r);
      if (step <= p.thresholdQ4 && (!background || 4 * (right - left - 1) > step)) {
        value = l + floorDivided(2 * i * (r - l) + i + j, 2 * (i + j));
      } else if (background) {
        const int edge = ends[first + left + 1].left;
        const bool splits = edge >= 0 && (l > r || 32 * (right - left - 1) >= 3 * step);
        value = splits ? (x < edge ? l : r) : min(l, r);
      } else {
        const int own = grey[first + x];
        value = abs(grey[first + left] - own) <= abs(grey[first + right] - own) ? l : r;
      }
    } else if (hasLeft) {
      value = l;
    } else if (hasRight) {
      value = background ? extrapolated(p, slope, right - x, r) : r;
    }
    out[first + x] = static_cast<int16_t>(value);
  }
}

/// One warp per row.
__global__ void __launch_bounds__(32 * kRowsAtOnce)
    fillCopyRowsKernel(int16_t* out, const int32_t* empty, int width, int height) {
  untilKernelBefore();
  const int y = blockIdx.x * kRowsAtOnce + threadIdx.x / 32;
  if (y >= height || empty[y] == 0) return;
  int source = y;
  while (source >= 0 && empty[source] != 0) --source;
  if (source < 0) {
    source = y;
    while (source < height && empty[source] != 0) ++source;
  }
  if (source == height) return;
  for (int x = threadIdx.x % 32; x < width; x += 32)
    out[static_cast<size_t>(y) * width + x] = out[static_cast<size_t>(source) * width + x];
}

}  // namespace

Status fill(const FillParameters& parameters, const uint8_t* grey, const int16_t* in, int16_t* out, uint8_t* confidence,
            int32_t* scratch, int32_t width, int32_t height, cudaStream_t stream) {
  int strip = 0;
  if (parameters.method == FillMethod::kBackground) {
    strip = parameters.lowestQ4 / 16 + kFillStripColumns;
    if (strip > width / 8) strip = width / 8;
  }
  const size_t words = (static_cast<size_t>(width) + 31) / 32;
  const size_t shared = words * sizeof(uint32_t) + width * sizeof(uint16_t);
  HoleEnds* const ends = reinterpret_cast<HoleEnds*>(scratch + height);
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(fillKernel));
  DEPTHWATT_TRY(launch("fillKernel", fillKernel,
                       LaunchShape{dim3(height), dim3(kFillThreads), shared, stream, overlaps}, parameters, grey, in,
                       out, confidence, scratch, ends, width, height, strip));
  static const bool copyOverlaps = waitsForKernelBefore(reinterpret_cast<const void*>(fillCopyRowsKernel));
  const dim3 grid((height + kRowsAtOnce - 1) / kRowsAtOnce);
  return launch("fillCopyRowsKernel", fillCopyRowsKernel,
                LaunchShape{grid, dim3(32 * kRowsAtOnce), 0, stream, copyOverlaps}, out, scratch, width, height);
}

}  // namespace gpu
}  // namespace depthwatt
