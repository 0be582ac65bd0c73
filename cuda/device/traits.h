// SPDX-License-Identifier: Apache-2.0
// Differences between architectures, chosen in one place: the packing of two path costs in a register and the minimum
// over a warp. Both packings can be forced on every architecture and give identical results.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace depthwatt {
namespace gpu {

constexpr uint32_t kFullWarp = 0xffffffffu;

/// Two uint16 in a word. Native on sm_90, 100 and 120; emulated below, and on sm_110.
struct CellU16 {
  static constexpr uint32_t kInfinity = 0x7fff7fffu;
  static __device__ __forceinline__ uint32_t pair(uint32_t value) { return value * 0x00010001u; }
  static __device__ __forceinline__ uint32_t min(uint32_t a, uint32_t b) { return __vminu2(a, b); }
  static __device__ __forceinline__ uint32_t max(uint32_t a, uint32_t b) { return __vmaxu2(a, b); }
  // No half overflows: values are below 2^15 + 2^11.
  static __device__ __forceinline__ uint32_t add(uint32_t a, uint32_t b) { return a + b; }
  static __device__ __forceinline__ uint32_t sub(uint32_t a, uint32_t b) { return a - b; }
  /// Returns min(least, a + b), on 9.0 in one instruction.
  static __device__ __forceinline__ uint32_t minOfSum(uint32_t least, uint32_t a, uint32_t b) {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12000
    return __viaddmin_u16x2(a, b, least);
#else
    return min(least, add(a, b));
#endif
  }
  /// Returns bytes 0 and 1 (high = 0) or 2 and 3 of a word as two values.
  static __device__ __forceinline__ uint32_t fromBytes(uint32_t word, int high) {
    return __byte_perm(word, 0, high ? 0x4342 : 0x4140);
  }
  /// Packs two pairs of values below 256 into four bytes.
  static __device__ __forceinline__ uint32_t toBytes(uint32_t low, uint32_t high) {
    return __byte_perm(low, high, 0x6420);
  }
};

/// Two uint16 in a word, computed with half-precision instructions. The bit pattern of an integer n up to 2048, read as
/// a half-precision number, is exactly n * 2^-24 (below 1024 it is subnormal, which costs no time on a GPU), so sums
/// and minima of patterns are those of the integers. Above 2048 sums lose their lowest bits but keep their order; this
/// happens only in sums that a minimum then discards, because path costs are below 1087. HADD2 is native from sm_53 on,
/// HMNMX2 from sm_80 on.
struct CellHalf2 {
  static __device__ __forceinline__ __half2 as(uint32_t bits) { return *reinterpret_cast<__half2*>(&bits); }
  static __device__ __forceinline__ uint32_t bits(__half2 value) { return *reinterpret_cast<uint32_t*>(&value); }
  static __device__ __forceinline__ uint32_t pair(uint32_t value) { return value * 0x00010001u; }
#if __CUDA_ARCH__ >= 800 && !defined(DEPTHWATT_CELL_SATURATING)
  static constexpr uint32_t kInfinity = 0x78007800u;  ///< 32768: no sum reaches it, and adding to it does not change it
  static __device__ __forceinline__ uint32_t min(uint32_t a, uint32_t b) { return bits(__hmin2(as(a), as(b))); }
  static __device__ __forceinline__ uint32_t max(uint32_t a, uint32_t b) { return bits(__hmax2(as(a), as(b))); }
#else
  // Before sm_80 there is no minimum: min(a, b) = a - max(a - b, 0), where the saturating subtraction (to 0..1) gives
  // max(a - b, 0). It is exact up to a difference of 2048, so infinity is chosen small: larger than every path cost of a
  // candidate, and at most 2048 away from every value.
  static constexpr uint32_t kInfinity = 0x07ff07ffu;
  static __device__ __forceinline__ __half2 excess(uint32_t a, uint32_t b) { return __hsub2_sat(as(a), as(b)); }
  static __device__ __forceinline__ uint32_t min(uint32_t a, uint32_t b) { return bits(__hsub2(as(a), excess(a, b))); }
  static __device__ __forceinline__ uint32_t max(uint32_t a, uint32_t b) { return bits(__hadd2(as(b), excess(a, b))); }
#endif
  static __device__ __forceinline__ uint32_t add(uint32_t a, uint32_t b) { return bits(__hadd2(as(a), as(b))); }
  static __device__ __forceinline__ uint32_t sub(uint32_t a, uint32_t b) { return bits(__hsub2(as(a), as(b))); }
  static __device__ __forceinline__ uint32_t minOfSum(uint32_t least, uint32_t a, uint32_t b) {
    return min(least, add(a, b));
  }
  static __device__ __forceinline__ uint32_t fromBytes(uint32_t word, int high) {
    return CellU16::fromBytes(word, high);
  }
  static __device__ __forceinline__ uint32_t toBytes(uint32_t low, uint32_t high) {
    return CellU16::toBytes(low, high);
  }
};

// Chosen by the number of instructions (docs/internals/predictions.md). Orin (8.x) and Thor (11.x) have a half-precision minimum
// and emulate the packed integer one in five instructions. Before 8.0 there is neither; two half-precision subtractions
// replace the minimum. On an H200 uint16 was measured 1 to 6 % faster. Below 5.3 there is no half-precision arithmetic.
#if defined(DEPTHWATT_CELL_HALF2) || defined(DEPTHWATT_CELL_SATURATING) || \
    (!defined(DEPTHWATT_CELL_U16) && ((__CUDA_ARCH__ >= 530 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ / 100 == 11))
using Cell = CellHalf2;
#else
using Cell = CellU16;
#endif

#if __CUDA_ARCH__ >= 800
constexpr bool kHasWarpMin = true;
#else
constexpr bool kHasWarpMin = false;
#endif

/// Blocks per multiprocessor of the aggregation kernels, as __launch_bounds__ takes them. Below 9.0 the compiler spills
/// registers at three.
#if __CUDA_ARCH__ >= 900
constexpr int kWalkBlocks = 3;
#else
constexpr int kWalkBlocks = 2;
#endif

/// Blocks per multiprocessor of the kernel that finishes the rows and selects: 80 registers a thread, or 128. One less
/// with four pairs a lane and adaptive P2.
#if __CUDA_ARCH__ >= 900
constexpr int kSelectBlocks = 6;
#else
constexpr int kSelectBlocks = 4;
#endif

/// Blocks per multiprocessor of the kernel that starts the rows. Without this bound the compiler uses too many
/// registers.
constexpr int firstBlocks(int pairs, bool adaptive) {
#if __CUDA_ARCH__ >= 900
  return pairs == 4 ? 4 : pairs == 2 ? (adaptive ? 5 : 6) : 7;
#else
  return pairs == 4 ? 1 : 4;
#endif
}

/// Blocks per multiprocessor of the kernel for costs and columns: with 10, 8 multiprocessors hold 640 columns at once.
/// nvcc 13 spills registers at these numbers on 11.0.
constexpr int downBlocks(int pairs, int words) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ / 100 != 11
  return words == 1 ? (pairs == 8 ? 10 : 8) : 6;
#else
  (void)pairs, (void)words;
  return 2;
#endif
}

/// Blocks per multiprocessor of match/sad's one kernel: 80 registers a thread, or 128 if it also finds the right
/// image's winners. nvcc 13 spills two registers at 80 on 11.0. Before 8.0 shared memory limits it to one or two.
constexpr int sadBlocks(bool right) {
#if __CUDA_ARCH__ / 100 == 11
  (void)right;
  return 2;
#elif __CUDA_ARCH__ >= 800
  return right ? 2 : 3;
#else
  (void)right;
  return 1;
#endif
}

/// Blocks per multiprocessor of match/sad's kernel with a ring of costs: 96 registers a thread. Other compilers spill
/// at 96, and a single block waits at its barriers; there the kernel runs only on request (sadRingSuits).
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ / 100 != 11
constexpr int kSadRingBlocks = 2;
#else
constexpr int kSadRingBlocks = 1;
#endif
/// Whether the wide form of that kernel is compiled. Elsewhere compilers spill. Always true in C++ code.
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
constexpr bool kSadRingWide = kSadRingBlocks > 1;
#else
constexpr bool kSadRingWide = true;
#endif
constexpr bool sadRingSuits(int major) { return major >= 9 && major != 11; }

/// Blocks of 256 threads of refine/fill: 64 registers a thread, or 80 where compilers spill at 64.
#if __CUDA_ARCH__ / 100 == 11
constexpr int kFillBlocks = 3;
#else
constexpr int kFillBlocks = 4;
#endif

/// Blocks of 512 threads of match/exponential's rounds per multiprocessor: 64 registers a thread, or 128.
#if __CUDA_ARCH__ >= 800
constexpr int kRoundBlocks = 2;
#else
constexpr int kRoundBlocks = 1;
#endif

/// How loads are prefetched. From 8.0 on they are asynchronous copies to shared memory, completed in order, so several
/// batches may be in flight. Before 8.0 one batch is loaded into registers and then written to shared memory.
#if __CUDA_ARCH__ >= 800
constexpr bool kCopiesRunAlone = true;
constexpr int kCopiesAhead = 2;
#else
constexpr bool kCopiesRunAlone = false;
constexpr int kCopiesAhead = 1;
#endif

/// Starts copying 16 bytes; both addresses are multiples of 16. The copy is complete after waitForCopies; other lanes
/// see it after __syncwarp.
__device__ __forceinline__ void copyAlone(void* shared, const void* global) {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
      "l"(global)
      : "memory");
#else
  *reinterpret_cast<uint4*>(shared) = *reinterpret_cast<const uint4*>(global);
#endif
}
/// The same for one word.
__device__ __forceinline__ void copyWordAlone(uint32_t* shared, const uint32_t* global) {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
      "l"(global)
      : "memory");
#else
  *shared = *global;
#endif
}
/// Makes one group of the copies since the last call.
__device__ __forceinline__ void groupCopies() {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits for all groups but the newest kLater.
template <int kLater>
__device__ __forceinline__ void waitForCopies() {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kLater) : "memory");
#endif
}

/// A barrier of some warps of a block, 1 to 15 (0 belongs to __syncthreads). It opens when kThreads threads, in whole
/// warps, have arrived or joined. Writes before an arrival are visible to the threads that join. Numbers must be
/// constants: otherwise a block reserves all 16, and at most four blocks fit a multiprocessor.
template <int kBarrier, int kThreads>
__device__ __forceinline__ void arriveAt() {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  asm volatile("bar.arrive %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
#elif !defined(__CUDACC__)
  warp::arriveAt(kBarrier, kThreads);
#endif
}
template <int kBarrier, int kThreads>
__device__ __forceinline__ void joinAt() {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  asm volatile("bar.sync %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
#elif !defined(__CUDACC__)
  warp::joinAt(kBarrier, kThreads);
#endif
}

/// Returns ones in every half whose highest bit is set.
__device__ __forceinline__ uint32_t signBits(uint32_t halves) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  uint32_t signs;
  asm("prmt.b32 %0, %1, 0, 0xBB99;" : "=r"(signs) : "r"(halves));
  return signs;
#else
  return (halves >> 15 & 0x00010001u) * 0xffffu;
#endif
}

/// Where launches overlap (launch.cuh): waits until the previous kernel on this stream has ended and its writes are
/// visible.
__device__ __forceinline__ void untilKernelBefore() {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Returns the same address, and keeps the compiler from recomputing it at each use, which costs more than a register.
__device__ __forceinline__ uint8_t* keptShared(uint8_t* shared) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("" : "+r"(at));
  return static_cast<uint8_t*>(__cvta_shared_to_generic(at));
#else
  return shared;
#endif
}
template <class T>
__device__ __forceinline__ T* keptGlobal(T* global) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(global));
#if __CUDACC_VER_MAJOR__ >= 11
  __builtin_assume(__isGlobal(global));
#endif
#endif
  return global;
}

/// Returns low | high << 16 in one instruction. Compilers that know the ranges use two.
__device__ __forceinline__ uint32_t packPair(uint32_t low, uint32_t high) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  uint32_t pair;
  asm("mad.lo.u32 %0, %1, 65536, %2;" : "=r"(pair) : "r"(high), "r"(low));
  return pair;
#else
  return low | high << 16;
#endif
}

/// Packs four values below 256 into a word in three instructions. Compilers that know the ranges use six.
__device__ __forceinline__ uint32_t packBytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  uint32_t low, high, word;
  asm("mad.lo.u32 %0, %1, 256, %2;" : "=r"(low) : "r"(b), "r"(a));
  asm("mad.lo.u32 %0, %1, 256, %2;" : "=r"(high) : "r"(d), "r"(c));
  asm("mad.lo.u32 %0, %1, 65536, %2;" : "=r"(word) : "r"(high), "r"(low));
  return word;
#else
  return a | b << 8 | c << 16 | d << 24;
#endif
}

/// Returns the smallest word of the warp, on every lane.
__device__ __forceinline__ uint32_t warpMin(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kFullWarp, value);
#else
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const uint32_t other = __shfl_xor_sync(kFullWarp, value, offset);
    value = other < value ? other : value;
  }
  return value;
#endif
}

}  // namespace gpu
}  // namespace depthwatt
