// SPDX-License-Identifier: Apache-2.0
// RVL on CUDA, three kernels over blocks of 1024 pixels; see rvl.h for the code.
//   summariesKernel  each block's last value and first zero; clears the output
//   countsKernel     the nibbles that each block writes
//   codesKernel      the block's start, and its nibbles
// A value's difference needs the value before it. A run's first value needs the lengths of the zeros before it and of the run.
// Scans within the block, and the summaries beyond it, give all three. A block assembles its nibbles in shared memory; it shares the
// words at its two ends with other blocks.
#include "rvl_gpu.h"

#include "../../device/launch.cuh"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kOwnPixels = 4, kBlockPixels = kThreads * kOwnPixels;
constexpr int kNone = -1, kNever = 0x7fffffff;
/// Six nibbles a value. Counts within a block cost less than the zeros that they replace; counts across blocks have up
/// to ten nibbles.
constexpr int kBlockWords = (6 * kBlockPixels + 64) / 8 + 2;

struct RvlArguments {
  const uint16_t* image;
  bool disparity;
  int pixels, blocks;
  int32_t *lastValue, *firstZero;
  uint32_t *nibbles, *words, *bytes;
  int wordCount;
};

/// As in rvl.cc.
__device__ __forceinline__ uint32_t pixelValue(uint32_t word, bool disparity) {
  if (!disparity) return word;
  const int raised = static_cast<int16_t>(static_cast<uint16_t>(word + 1));
  return raised > 0 ? static_cast<uint32_t>(raised) : 0u;
}

/// Returns the number of nibbles of a number.
__device__ __forceinline__ int nibbleCount(uint32_t number) { return number < 8 ? 1 : (31 - __clz(number)) / 3 + 1; }

struct Larger {
  static __device__ __forceinline__ int of(int a, int b) { return max(a, b); }
};
struct Smaller {
  static __device__ __forceinline__ int of(int a, int b) { return min(a, b); }
};

/// Reduces over all threads of the block, with the result on each. @param perWarp kWarps words of shared memory
template <class Operation>
__device__ __forceinline__ int overBlock(int own, int32_t* perWarp) {
#pragma unroll
  for (int bit = 16; bit > 0; bit /= 2) own = Operation::of(own, __shfl_xor_sync(kFullWarp, own, bit));
  __syncthreads();
  if (threadIdx.x % 32 == 0) perWarp[threadIdx.x / 32] = own;
  __syncthreads();
  int all = perWarp[0];
#pragma unroll
  for (int w = 1; w < kWarps; ++w) all = Operation::of(all, perWarp[w]);
  return all;
}

__device__ __forceinline__ int overWarp(int own) {
#if __CUDA_ARCH__ >= 800
  return static_cast<int>(__reduce_add_sync(kFullWarp, static_cast<uint32_t>(own)));
#else
#pragma unroll
  for (int bit = 16; bit > 0; bit /= 2) own += __shfl_xor_sync(kFullWarp, own, bit);
  return own;
#endif
}

/// The four pixels of a thread, and their surroundings.
struct OwnPixels {
  int first;
  uint32_t value[kOwnPixels];  ///< 0 beyond the image
  int before;                  ///< the last pixel with a value before them, or kNone
  uint32_t valueBefore;
  int zeroAfter;  ///< the first zero pixel after them, or the number of pixels
};

__device__ __forceinline__ void load(const RvlArguments& a, OwnPixels& own) {
  own.first = blockIdx.x * kBlockPixels + threadIdx.x * kOwnPixels;
  uint32_t word[kOwnPixels] = {};
  if (own.first + kOwnPixels <= a.pixels) {
    const uint2 four = *reinterpret_cast<const uint2*>(a.image + own.first);
    word[0] = four.x & 0xffffu, word[1] = four.x >> 16, word[2] = four.y & 0xffffu, word[3] = four.y >> 16;
#pragma unroll
    for (int k = 0; k < kOwnPixels; ++k) own.value[k] = pixelValue(word[k], a.disparity);
  } else {
#pragma unroll
    for (int k = 0; k < kOwnPixels; ++k) {
      own.value[k] = own.first + k < a.pixels ? pixelValue(a.image[own.first + k], a.disparity) : 0u;
    }
  }
}

__device__ __forceinline__ int findLastValue(const OwnPixels& own) {
  int last = kNone;
#pragma unroll
  for (int k = 0; k < kOwnPixels; ++k) last = own.value[k] != 0 ? own.first + k : last;
  return last;
}
__device__ __forceinline__ int findFirstZero(const OwnPixels& own, int pixels) {
  int zero = kNever;
#pragma unroll
  for (int k = kOwnPixels - 1; k >= 0; --k) zero = own.value[k] == 0 && own.first + k < pixels ? own.first + k : zero;
  return zero;
}

/// The last pixel with a value and the first zero of each warp of the block.
struct Warps {
  int32_t last[kWarps], zero[kWarps];
};

/// Stores each warp's values, and sets what the thread's own warp has before (last) and after (zero) it. Other warps'
/// values are valid after a barrier.
__device__ __forceinline__ void overThreads(int& last, int& zero, Warps& warps) {
  const int lane = threadIdx.x % 32;
  const uint32_t values = __ballot_sync(kFullWarp, last != kNone), zeros = __ballot_sync(kFullWarp, zero != kNever);
  const auto lastLane = [&](uint32_t lanes) {
    const int found = __shfl_sync(kFullWarp, last, 31 - __clz(lanes | 1u));
    return lanes != 0 ? found : kNone;
  };
  const auto firstLane = [&](uint32_t lanes) {
    const int found = __shfl_sync(kFullWarp, zero, __ffs(lanes | 0x80000000u) - 1);
    return lanes != 0 ? found : kNever;
  };
  const uint32_t before = (1u << lane) - 1u;
  const int warpLast = lastLane(values), warpZero = firstLane(zeros);
  const int lastBefore = lastLane(values & before), zeroBehind = firstLane(zeros & ~before & ~(1u << lane));
  last = lastBefore, zero = zeroBehind;
  if (lane == 0) warps.last[threadIdx.x / 32] = warpLast, warps.zero[threadIdx.x / 32] = warpZero;
}

/// Finds the last value before and the first zero after a thread's pixels. Takes one barrier, and more only if the
/// neighbouring block has neither.
__device__ __forceinline__ void lookAround(const RvlArguments& a, OwnPixels& own, Warps& warps) {
  const int block = blockIdx.x, thread = threadIdx.x, warp = thread / 32;
  int carried = block > 0 ? a.lastValue[block - 1] : kNone;
  int beyond = block + 1 < a.blocks ? a.firstZero[block + 1] : kNever;
  int last = findLastValue(own), zero = findFirstZero(own, a.pixels);
  overThreads(last, zero, warps);
  __syncthreads();
  int blockLast = kNone, blockZero = kNever;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const int warpLast = warps.last[w], warpZero = warps.zero[w];
    blockLast = max(blockLast, warpLast), blockZero = min(blockZero, warpZero);
    if (w < warp) last = max(last, warpLast);
    if (w > warp) zero = min(zero, warpZero);
  }
  for (int end = block - 1; end > 0 && carried == kNone; end -= kThreads) {
    const int at = end - 1 - thread;
    carried = overBlock<Larger>(at >= 0 ? a.lastValue[at] : kNone, warps.last);
  }
  // A run's length is written at its start: only a run that starts here and continues after the block needs a zero from
  // there.
  const int first = block * kBlockPixels;
  const bool goesOn = blockLast == first + kBlockPixels - 1, begins = blockZero != kNever || carried != first - 1;
  if (goesOn && (begins || block == 0)) {
    for (int begin = block + 2; begin < a.blocks && beyond == kNever; begin += kThreads) {
      const int at = begin + thread;
      beyond = overBlock<Smaller>(at < a.blocks ? a.firstZero[at] : kNever, warps.zero);
    }
  }
  own.before = max(carried, last);
  own.zeroAfter = min(min(zero, beyond), a.pixels);
  own.valueBefore = own.before == kNone ? 0u : pixelValue(a.image[own.before], a.disparity);
}

/// Passes the numbers of a thread's pixels to put(), in order.
template <class Put>
__device__ __forceinline__ void forEachNumber(const RvlArguments& a, const OwnPixels& own, Put put) {
  int before = own.before;
  uint32_t valueBefore = own.valueBefore;
#pragma unroll
  for (int k = 0; k < kOwnPixels; ++k) {
    const int i = own.first + k;
    const uint32_t value = own.value[k];
    if (value == 0) {
      if (i != a.pixels - 1) continue;
      put(static_cast<uint32_t>(i - before));  // zeros up to the end, and no value after them
      put(0u);
      continue;
    }
    if (i == 0 || before != i - 1) {
      int end = own.zeroAfter;
#pragma unroll
      for (int j = kOwnPixels - 1; j > k; --j)
        end = own.value[j] == 0 && own.first + j < a.pixels ? own.first + j : end;
      put(static_cast<uint32_t>(i - 1 - before));
      put(static_cast<uint32_t>(end - i));
    }
    const int step = static_cast<int>(value) - static_cast<int>(valueBefore);
    put(static_cast<uint32_t>(step) << 1 ^ static_cast<uint32_t>(step >> 31));
    before = i, valueBefore = value;
  }
}

__device__ __forceinline__ int ownNibbles(const RvlArguments& a, const OwnPixels& own) {
  int count = 0;
  forEachNumber(a, own, [&](uint32_t number) { count += nibbleCount(number); });
  return count;
}

__global__ void __launch_bounds__(kThreads) summariesKernel(RvlArguments a) {
  __shared__ Warps warps;
  untilKernelBefore();
  OwnPixels own;
  load(a, own);
  int last = findLastValue(own), zero = findFirstZero(own, a.pixels);
  overThreads(last, zero, warps);
  __syncthreads();
  if (threadIdx.x == 0) {
    last = kNone, zero = kNever;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) last = max(last, warps.last[w]), zero = min(zero, warps.zero[w]);
    a.lastValue[blockIdx.x] = last, a.firstZero[blockIdx.x] = zero;
  }
  constexpr int kShare = 6 * kBlockPixels / 8;
  const int begin = blockIdx.x * kShare, end = blockIdx.x + 1 == a.blocks ? a.wordCount : begin + kShare;
  for (int w = begin + threadIdx.x; w < end; w += kThreads) a.words[w] = 0;
}

__global__ void __launch_bounds__(kThreads) countsKernel(RvlArguments a) {
  __shared__ Warps warps;
  __shared__ int32_t counts[kWarps];
  untilKernelBefore();
  OwnPixels own;
  load(a, own);
  lookAround(a, own, warps);
  const int count = overWarp(ownNibbles(a, own));
  if (threadIdx.x % 32 == 0) counts[threadIdx.x / 32] = count;
  __syncthreads();
  if (threadIdx.x != 0) return;
  int all = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) all += counts[w];
  a.nibbles[blockIdx.x] = static_cast<uint32_t>(all);
}

/// Writes nibbles into words from the top, starting anywhere; a word is shared with the neighbours.
class NibbleWords {
 public:
  __device__ __forceinline__ NibbleWords(uint32_t* words, int place) : words_(words), place_(place) {}
  __device__ __forceinline__ void number(uint32_t value) {
    for (; value >= 8; value >>= 3) nibble(8 | (value & 7));
    nibble(value);
  }
  __device__ __forceinline__ void flush() {
    if (pending_ != 0) atomicOr(&words_[place_ / 8], pending_);
  }

 private:
  __device__ __forceinline__ void nibble(uint32_t value) {
    pending_ |= value << (28 - 4 * (place_ % 8));
    if (place_ % 8 == 7) {
      flush();
      pending_ = 0;
    }
    ++place_;
  }

  uint32_t* words_;
  int place_;
  uint32_t pending_ = 0;
};

__global__ void __launch_bounds__(kThreads) codesKernel(RvlArguments a) {
  __shared__ Warps warps;
  __shared__ int32_t counts[kWarps], sums[kWarps];
  __shared__ uint32_t words[kBlockWords];
  untilKernelBefore();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  OwnPixels own;
  load(a, own);
  const int count = static_cast<int>(a.nibbles[blockIdx.x]);
  int before = 0;
  for (int b = threadIdx.x; b < static_cast<int>(blockIdx.x); b += kThreads) before += static_cast<int>(a.nibbles[b]);
  lookAround(a, own, warps);
  // Nibbles of all blocks before this one.
  before = overWarp(before);
  int place = ownNibbles(a, own);
  const int ownCount = place;
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
    const int other = __shfl_up_sync(kFullWarp, place, by);
    if (lane >= by) place += other;
  }
  if (lane == 0) sums[warp] = before;
  if (lane == 31) counts[warp] = place;
  for (int w = threadIdx.x; w < (count + 14) / 8; w += kThreads) words[w] = 0;
  __syncthreads();
  place -= ownCount;
  uint32_t start = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    start += static_cast<uint32_t>(sums[w]);
    if (w < warp) place += counts[w];
  }
  const int from = static_cast<int>(start % 8), used = (from + count + 7) / 8;
  place += from;
  NibbleWords nibbles(words, place);
  forEachNumber(a, own, [&](uint32_t number) { nibbles.number(number); });
  nibbles.flush();
  __syncthreads();
  uint32_t* const out = a.words + start / 8;
  for (int w = threadIdx.x; w < used; w += kThreads) {
    if (w == 0 || w == used - 1) atomicOr(&out[w], words[w]);
    else out[w] = words[w];
  }
  if (threadIdx.x == 0 && static_cast<int>(blockIdx.x) + 1 == a.blocks) *a.bytes = (start + count + 7) / 8 * 4;
}

int blockCount(size_t pixels) { return static_cast<int>((pixels + kBlockPixels - 1) / kBlockPixels); }

}  // namespace

Status RvlScratch::open(size_t pixels) {
  const size_t blocks = static_cast<size_t>(blockCount(pixels));
  DEPTHWATT_TRY(lastValue.allocate(blocks));
  DEPTHWATT_TRY(firstZero.allocate(blocks));
  return nibbles.allocate(blocks);
}

size_t rvlWords(size_t pixels) { return (6 * pixels + 12 + 7) / 8 + 2; }

Status rvl(const void* in, bool disparity, size_t pixels, const RvlScratch& scratch, uint32_t* out, uint32_t* outBytes,
           cudaStream_t stream) {
  RvlArguments a = {};
  a.image = static_cast<const uint16_t*>(in), a.disparity = disparity;
  a.pixels = static_cast<int>(pixels), a.blocks = blockCount(pixels);
  a.lastValue = scratch.lastValue.get(), a.firstZero = scratch.firstZero.get(), a.nibbles = scratch.nibbles.get();
  a.words = out, a.bytes = outBytes, a.wordCount = static_cast<int>(rvlWords(pixels));
  const LaunchShape shape = {a.blocks, kThreads, 0, stream,
                             waitsForKernelBefore(reinterpret_cast<const void*>(codesKernel))};
  DEPTHWATT_TRY(launch("rvl summariesKernel", summariesKernel, shape, a));
  DEPTHWATT_TRY(launch("rvl countsKernel", countsKernel, shape, a));
  return launch("rvl codesKernel", codesKernel, shape, a);
}

}  // namespace gpu
}  // namespace depthwatt
