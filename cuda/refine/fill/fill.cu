// SPDX-License-Identifier: Apache-2.0
// Hole filling on CUDA; see fill.h.
// A block fills a row. Its threads first put a bit for each valid pixel into shared memory, so that the two ends of a hole are a
// count of leading and of trailing zeros away, a word for 32 pixels. Out of place, so that nobody reads what another thread
// filled; empty rows are copied by a kernel of its own.
#include "fill.h"

#include "../../gpu/kernels.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kInvalid = kInvalidDisparity;
constexpr int kFillThreads = 256;
constexpr int kSlopePixels = 32, kFewestSlopePixels = 16, kSteepestQ4 = 2, kStepQ4 = 16;

__device__ __forceinline__ int floorDivided(int numerator, int denominator) {
  const int quotient = numerator / denominator;
  return numerator % denominator != 0 && numerator < 0 ? quotient - 1 : quotient;
}

/// Of a valid pixel: its value as the left end of the hole behind it, and as the right end of the one before it.
struct HoleEnds {
  int16_t left, right;
};

/// Lower median of the valid disparities around a hole's end at (e, y); see fill.h.
__device__ __forceinline__ int robustEnd(const uint8_t* grey, const int16_t* in, int width, int height, int strip,
                                         int e, int y, int away) {
  constexpr int kCount = kEndColumns * (2 * kEndRows + 1), kNone = 0x7fffffff;
  const int own = in[static_cast<size_t>(y) * width + e], greyOfEnd = grey[static_cast<size_t>(y) * width + e];
  int values[kCount], n = 0, low = own, high = own;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    const int x = e + away * (k % kEndColumns), j = y + k / kEndColumns - kEndRows;
    values[k] = kNone;
    if (x < strip || x >= width || j < 0 || j >= height) continue;
    const size_t at = static_cast<size_t>(j) * width + x;
    const int value = in[at];
    if (value == kInvalid || abs(grey[at] - greyOfEnd) > kEndGrey) continue;
    values[k] = value;
    low = min(low, value), high = max(high, value);
    ++n;
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

/// from: the value of the hole's end.
__device__ __forceinline__ int extrapolated(const FillParameters& p, const int16_t* row, int width, int end, int x,
                                            int from) {
  int n = 1;
  while (n < kSlopePixels && end + n < width && row[end + n] != kInvalid &&
         abs(row[end + n] - row[end + n - 1]) <= kStepQ4) {
    ++n;
  }
  const int half = n / 2;
  int value = from;
  if (2 * half >= kFewestSlopePixels) {
    int rise = 0;
    for (int k = 0; k < half; ++k) rise += row[end + half + k] - row[end + k];
    const int area = half * half;
    rise = min(max(rise, -kSteepestQ4 * area), kSteepestQ4 * area);
    value -= floorDivided(2 * (end - x) * rise + area, 2 * area);
  }
  return min(max(value, p.lowestQ4), p.highestQ4);
}

/// Place of the last valid pixel up to x, or -1.
__device__ __forceinline__ int validBefore(const uint32_t* valid, int x) {
  int word = x / 32;
  uint32_t bits = valid[word] & (~0u >> (31 - x % 32));
  while (bits == 0 && word > 0) bits = valid[--word];
  return bits == 0 ? -1 : 32 * word + 31 - __clz(bits);
}

/// Place of the first valid pixel from x on, or `width` and more.
__device__ __forceinline__ int validFrom(const uint32_t* valid, int x, int words, int width) {
  int word = x / 32;
  uint32_t bits = valid[word] & (~0u << x % 32);
  while (bits == 0 && ++word < words) bits = valid[word];
  return bits == 0 ? width : 32 * word + __ffs(bits) - 1;
}

__global__ void __launch_bounds__(kFillThreads, 4)
    fillKernel(FillParameters p, const uint8_t* grey, const int16_t* in, int16_t* out, uint8_t* confidence,
               int32_t* empty, HoleEnds* allEnds, int width, int height, int strip) {
  extern __shared__ __align__(16) uint32_t valid[];
  const size_t first = static_cast<size_t>(blockIdx.x) * width;
  const int16_t* row = in + first;
  HoleEnds* const ends = allEnds + first;
  const int words = (width + 31) / 32;
  for (int base = 0; base < width; base += kFillThreads) {
    const int x = base + threadIdx.x;
    const uint32_t bits = __ballot_sync(~0u, x >= strip && x < width && row[min(x, width - 1)] != kInvalid);
    if (x % 32 == 0 && x < width) valid[x / 32] = bits;
  }
  __syncthreads();
  if (threadIdx.x == 0) empty[blockIdx.x] = validFrom(valid, 0, words, width) == width;
  const bool background = p.method == FillMethod::kBackground;
  const auto isValid = [&](int x) { return (valid[x / 32] >> x % 32 & 1) != 0; };
  if (background) {
    // Once for each end, not for each pixel of a hole.
    for (int x = threadIdx.x; x < width; x += kFillThreads) {
      if (!isValid(x)) continue;
      const int y = static_cast<int>(blockIdx.x);
      if (x + 1 < width && !isValid(x + 1)) {
        ends[x].left = static_cast<int16_t>(robustEnd(grey, in, width, height, strip, x, y, -1));
      }
      if (x > 0 && !isValid(x - 1))
        ends[x].right = static_cast<int16_t>(robustEnd(grey, in, width, height, strip, x, y, 1));
    }
    __syncthreads();
  }
  for (int x = threadIdx.x; x < width; x += kFillThreads) {
    if (x < strip) confidence[first + x] = 0;
    if (isValid(x)) {
      out[first + x] = row[x];
      continue;
    }
    const int left = validBefore(valid, x), right = validFrom(valid, x, words, width);
    const bool hasLeft = left >= 0, hasRight = right < width;
    int value = kInvalid;
    const int l = !hasLeft ? 0 : background ? ends[left].left : row[left];
    const int r = !hasRight ? 0 : background ? ends[right].right : row[right];
    if (hasLeft && hasRight) {
      const int i = x - left, j = right - x;
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
      value = l;
    } else if (hasRight) {
      value = background ? extrapolated(p, row, width, right, x, r) : r;
    }
    out[first + x] = static_cast<int16_t>(value);
  }
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
    strip = parameters.lowestQ4 / 16 + kFillStripColumns;
    if (strip > width / 8) strip = width / 8;
  }
  const size_t shared = static_cast<size_t>((width + 31) / 32) * sizeof(uint32_t);
  HoleEnds* const ends = reinterpret_cast<HoleEnds*>(scratch + height);
  fillKernel<<<height, kFillThreads, shared, stream>>>(parameters, grey, in, out, confidence, scratch, ends, width,
                                                       height, strip);
  fillCopyRowsKernel<<<dim3((width + 255) / 256, height), 256, 0, stream>>>(out, scratch, width, height);
  return launched("fill kernels");
}

}  // namespace gpu
}  // namespace depthwatt
