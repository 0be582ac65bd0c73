// SPDX-License-Identifier: Apache-2.0
// RVL on CUDA, three kernels over blocks of 1024 pixels; see rvl.h for the code.
//   summariesKernel  each block's last value and first zero; clears the output
//   countsKernel     the nibbles that each block writes
//   codesKernel      where they begin, and the nibbles
// A value's difference needs the value before it, a run's first value the length of the zeros before it and of its own run: all
// three are found by scans within the block and, beyond it, by the summaries. A block's nibbles are laid into shared memory; the
// words at its two ends belong to other blocks too.
#include "rvl_gpu.h"

#include "../../gpu/launch.cuh"
#include "../../gpu/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kOwnPixels = 4, kBlockPixels = kThreads * kOwnPixels;
constexpr int kNone = -1, kNever = 0x7fffffff;
/// Six nibbles a value; counts within a block cost less than the zeros they stand for, those across blocks up to ten nibbles.
constexpr int kBlockWords = (6 * kBlockPixels + 64) / 8 + 2;

struct RvlArguments {
  const uint16_t* image;
  bool disparity;
  int pixels, blocks;
  int32_t *lastValue, *firstZero;
  uint32_t *nibbles, *words, *bytes;
  int wordCount;
};

/// As rvl.cc has it.
__device__ __forceinline__ uint32_t valueOf(uint32_t word, bool disparity) {
  if (!disparity) return word;
  const int raised = static_cast<int16_t>(static_cast<uint16_t>(word + 1));
  return raised > 0 ? static_cast<uint32_t>(raised) : 0u;
}

/// Number of nibbles of a number.
__device__ __forceinline__ int nibblesOf(uint32_t number) { return number < 8 ? 1 : (31 - __clz(number)) / 3 + 1; }

struct Larger {
  static constexpr int kNothing = kNone;
  static __device__ __forceinline__ int of(int a, int b) { return max(a, b); }
};
struct Smaller {
  static constexpr int kNothing = kNever;
  static __device__ __forceinline__ int of(int a, int b) { return min(a, b); }
};
struct Sum {
  static constexpr int kNothing = 0;
  static __device__ __forceinline__ int of(int a, int b) { return a + b; }
};

/// Of all threads of the block, on each of them. perWarp: kWarps words of shared memory.
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

/// Of the threads before this one; or, backwards, of those behind it.
template <class Operation, bool kBackwards>
__device__ __forceinline__ int overThreadsBefore(int own, int32_t* perWarp) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto nearer = [&](int value, int by) {
    const int other = kBackwards ? __shfl_down_sync(kFullWarp, value, by) : __shfl_up_sync(kFullWarp, value, by);
    return (kBackwards ? lane + by < 32 : lane >= by) ? other : Operation::kNothing;
  };
#pragma unroll
  for (int by = 1; by < 32; by *= 2) own = Operation::of(own, nearer(own, by));
  __syncthreads();
  if (lane == (kBackwards ? 0 : 31)) perWarp[warp] = own;
  __syncthreads();
  int before = nearer(own, 1);
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    if (kBackwards ? w > warp : w < warp) before = Operation::of(before, perWarp[w]);
  }
  return before;
}

/// The four pixels of a thread, and what lies around them.
struct OwnPixels {
  int first;
  uint32_t value[kOwnPixels];  ///< 0 beyond the image
  int before;                  ///< the last pixel before them that has a value, or kNone
  uint32_t valueBefore;
  int zeroAfter;  ///< the first pixel behind them that is zero, or the number of pixels
};

__device__ __forceinline__ void load(const RvlArguments& a, OwnPixels& own) {
  own.first = blockIdx.x * kBlockPixels + threadIdx.x * kOwnPixels;
  uint32_t word[kOwnPixels] = {};
  if (own.first + kOwnPixels <= a.pixels) {
    const uint2 four = *reinterpret_cast<const uint2*>(a.image + own.first);
    word[0] = four.x & 0xffffu, word[1] = four.x >> 16, word[2] = four.y & 0xffffu, word[3] = four.y >> 16;
#pragma unroll
    for (int k = 0; k < kOwnPixels; ++k) own.value[k] = valueOf(word[k], a.disparity);
  } else {
#pragma unroll
    for (int k = 0; k < kOwnPixels; ++k) {
      own.value[k] = own.first + k < a.pixels ? valueOf(a.image[own.first + k], a.disparity) : 0u;
    }
  }
}

__device__ __forceinline__ int lastValueOf(const OwnPixels& own) {
  int last = kNone;
#pragma unroll
  for (int k = 0; k < kOwnPixels; ++k) last = own.value[k] != 0 ? own.first + k : last;
  return last;
}
__device__ __forceinline__ int firstZeroOf(const OwnPixels& own, int pixels) {
  int zero = kNever;
#pragma unroll
  for (int k = kOwnPixels - 1; k >= 0; --k) zero = own.value[k] == 0 && own.first + k < pixels ? own.first + k : zero;
  return zero;
}

/// Fills in what lies around a thread's pixels.
__device__ __forceinline__ void lookAround(const RvlArguments& a, OwnPixels& own, int32_t* perWarp) {
  const int block = blockIdx.x, thread = threadIdx.x;
  int carried = kNone, zero = kNever;
  for (int end = block; end > 0 && carried == kNone; end -= kThreads) {
    const int at = end - 1 - thread;
    carried = overBlock<Larger>(at >= 0 ? a.lastValue[at] : kNone, perWarp);
  }
  for (int begin = block + 1; begin < a.blocks && zero == kNever; begin += kThreads) {
    const int at = begin + thread;
    zero = overBlock<Smaller>(at < a.blocks ? a.firstZero[at] : kNever, perWarp);
  }
  own.before = max(carried, overThreadsBefore<Larger, false>(lastValueOf(own), perWarp));
  zero = min(zero, overThreadsBefore<Smaller, true>(firstZeroOf(own, a.pixels), perWarp));
  own.zeroAfter = min(zero, a.pixels);
  own.valueBefore = own.before == kNone ? 0u : valueOf(a.image[own.before], a.disparity);
}

/// Hands the numbers of a thread's pixels to put(), in their order.
template <class Put>
__device__ __forceinline__ void numbersOf(const RvlArguments& a, const OwnPixels& own, Put put) {
  int before = own.before;
  uint32_t valueBefore = own.valueBefore;
#pragma unroll
  for (int k = 0; k < kOwnPixels; ++k) {
    const int i = own.first + k;
    const uint32_t value = own.value[k];
    if (value == 0) {
      if (i != a.pixels - 1) continue;
      put(static_cast<uint32_t>(i - before));  // zeros up to the end, and no value behind them
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
  numbersOf(a, own, [&](uint32_t number) { count += nibblesOf(number); });
  return count;
}

__global__ void __launch_bounds__(kThreads) summariesKernel(RvlArguments a) {
  __shared__ int32_t perWarp[kWarps];
  untilKernelBefore();
  OwnPixels own;
  load(a, own);
  const int last = overBlock<Larger>(lastValueOf(own), perWarp);
  const int zero = overBlock<Smaller>(firstZeroOf(own, a.pixels), perWarp);
  if (threadIdx.x == 0) a.lastValue[blockIdx.x] = last, a.firstZero[blockIdx.x] = zero;
  constexpr int kShare = 6 * kBlockPixels / 8;
  const int begin = blockIdx.x * kShare, end = blockIdx.x + 1 == a.blocks ? a.wordCount : begin + kShare;
  for (int w = begin + threadIdx.x; w < end; w += kThreads) a.words[w] = 0;
}

__global__ void __launch_bounds__(kThreads) countsKernel(RvlArguments a) {
  __shared__ int32_t perWarp[kWarps];
  untilKernelBefore();
  OwnPixels own;
  load(a, own);
  lookAround(a, own, perWarp);
  const int count = overBlock<Sum>(ownNibbles(a, own), perWarp);
  if (threadIdx.x == 0) a.nibbles[blockIdx.x] = static_cast<uint32_t>(count);
}

/// Lays nibbles into words from the top, from any place on; a word is shared with the neighbours.
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
  __shared__ int32_t perWarp[kWarps];
  __shared__ uint32_t words[kBlockWords];
  untilKernelBefore();
  OwnPixels own;
  load(a, own);
  lookAround(a, own, perWarp);
  int before = 0;
  for (int b = threadIdx.x; b < static_cast<int>(blockIdx.x); b += kThreads) before += static_cast<int>(a.nibbles[b]);
  const uint32_t start = static_cast<uint32_t>(overBlock<Sum>(before, perWarp));
  const int count = static_cast<int>(a.nibbles[blockIdx.x]), from = static_cast<int>(start % 8);
  const int used = (from + count + 7) / 8;
  for (int w = threadIdx.x; w < used; w += kThreads) words[w] = 0;
  const int place = from + overThreadsBefore<Sum, false>(ownNibbles(a, own), perWarp);
  // The scan's barriers stand between the words that were cleared and those that are written.
  NibbleWords nibbles(words, place);
  numbersOf(a, own, [&](uint32_t number) { nibbles.number(number); });
  nibbles.flush();
  __syncthreads();
  uint32_t* const out = a.words + start / 8;
  for (int w = threadIdx.x; w < used; w += kThreads) {
    if (w == 0 || w == used - 1) atomicOr(&out[w], words[w]);
    else out[w] = words[w];
  }
  if (threadIdx.x == 0 && static_cast<int>(blockIdx.x) + 1 == a.blocks) *a.bytes = (start + count + 7) / 8 * 4;
}

int blocksOf(size_t pixels) { return static_cast<int>((pixels + kBlockPixels - 1) / kBlockPixels); }

}  // namespace

Status RvlScratch::open(size_t pixels) {
  const size_t blocks = static_cast<size_t>(blocksOf(pixels));
  DEPTHWATT_TRY(lastValue.allocate(blocks));
  DEPTHWATT_TRY(firstZero.allocate(blocks));
  return nibbles.allocate(blocks);
}

size_t rvlWords(size_t pixels) { return (6 * pixels + 12 + 7) / 8 + 2; }

Status rvl(const void* in, bool disparity, size_t pixels, const RvlScratch& scratch, uint32_t* out, uint32_t* outBytes,
           cudaStream_t stream) {
  RvlArguments a = {};
  a.image = static_cast<const uint16_t*>(in), a.disparity = disparity;
  a.pixels = static_cast<int>(pixels), a.blocks = blocksOf(pixels);
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
