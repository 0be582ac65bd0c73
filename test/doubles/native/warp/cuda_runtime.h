// SPDX-License-Identifier: Apache-2.0
// Replaces CUDA's header on machines without a GPU: kernels run on the CPU, one block after the other, every thread a
// fiber, so that every test run can compare them with their references. It supports what this project's kernels use.
//
// Threads switch at the functions that join a warp or a block. It reports a warp whose lanes do not all arrive at the same function, and a read or write outside an allocation, because device memory starts and ends at an unmapped page. It does not detect races of plain memory between warps and does not model time; __fdividef divides exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "host_api.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)

struct uint2 {
  uint32_t x, y;
};
struct int2 {
  int32_t x, y;
};
struct __attribute__((aligned(16))) uint4 {
  uint32_t x, y, z, w;
};
inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}

namespace warp {

/// Runs the body of a kernel for every thread of every block. Ends the program if a kernel breaks a rule.
void run(dim3 grid, dim3 block, size_t sharedBytes, const std::function<void()>& body);
void* dynamicShared();
uint32_t exchange(uint32_t own, const std::function<uint32_t(const uint32_t* lanes, int lane)>& pick);
void joinBlock();
/// Named barriers of a block, 1 to 15, like PTX's bar.arrive and bar.sync.
void arriveAt(int barrier, int threads);
void joinAt(int barrier, int threads);

template <class Kernel>
struct Launcher {
  dim3 grid, block;
  size_t sharedBytes;
  cudaStream_t stream;
  Kernel* kernel;
  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    const Launcher own = *this;
    launch(stream, [=] { run(own.grid, own.block, own.sharedBytes, [&] { own.kernel(arguments...); }); });
  }
};
template <class Kernel>
Launcher<Kernel> launcher(dim3 grid, dim3 block, size_t sharedBytes, cudaStream_t stream, Kernel* kernel) {
  return {grid, block, sharedBytes, stream, kernel};
}

}  // namespace warp

inline void __syncthreads() { warp::joinBlock(); }
inline int __syncthreads_or(int predicate) {
  static int any = 0;
  if (predicate != 0) any = 1;
  warp::joinBlock();
  const int result = any;
  warp::joinBlock();
  any = 0;
  warp::joinBlock();
  return result;
}
inline void __syncwarp(unsigned = 0xffffffffu) {
  warp::exchange(0, [](const uint32_t*, int) { return 0u; });
}
template <class T>
T __shfl_sync(unsigned, T value, int from, int width = 32) {
  static_assert(sizeof(T) == 4, "a word");
  return static_cast<T>(warp::exchange(static_cast<uint32_t>(value), [=](const uint32_t* lanes, int lane) {
    return lanes[(lane & ~(width - 1)) + (from & (width - 1))];
  }));
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int bits, int width = 32) {
  return static_cast<T>(warp::exchange(static_cast<uint32_t>(value), [=](const uint32_t* lanes, int lane) {
    const int from = lane ^ bits;
    return (from & ~(width - 1)) == (lane & ~(width - 1)) ? lanes[from] : lanes[lane];
  }));
}
template <class T>
T __shfl_up_sync(unsigned, T value, int by, int width = 32) {
  return static_cast<T>(warp::exchange(static_cast<uint32_t>(value), [=](const uint32_t* lanes, int lane) {
    return (lane & (width - 1)) >= by ? lanes[lane - by] : lanes[lane];
  }));
}
template <class T>
T __shfl_down_sync(unsigned, T value, int by, int width = 32) {
  return static_cast<T>(warp::exchange(static_cast<uint32_t>(value), [=](const uint32_t* lanes, int lane) {
    return (lane & (width - 1)) + by < width ? lanes[lane + by] : lanes[lane];
  }));
}
inline uint32_t __reduce_min_sync(unsigned, uint32_t value) {
  return warp::exchange(value, [](const uint32_t* lanes, int) { return *std::min_element(lanes, lanes + 32); });
}
inline uint32_t __reduce_add_sync(unsigned, uint32_t value) {
  return warp::exchange(value, [](const uint32_t* lanes, int) {
    uint32_t sum = 0;
    for (int i = 0; i < 32; ++i) sum += lanes[i];
    return sum;
  });
}
inline uint32_t __ballot_sync(unsigned, int predicate) {
  return warp::exchange(predicate != 0, [](const uint32_t* lanes, int) {
    uint32_t bits = 0;
    for (int i = 0; i < 32; ++i) bits |= lanes[i] << i;
    return bits;
  });
}

inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = a | static_cast<uint64_t>(b) << 32;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<uint32_t>(both >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  }
  return result;
}
inline uint32_t __vminu2(uint32_t a, uint32_t b) { return min(a & 0xffffu, b & 0xffffu) | min(a >> 16, b >> 16) << 16; }
inline uint32_t __vmaxu2(uint32_t a, uint32_t b) { return max(a & 0xffffu, b & 0xffffu) | max(a >> 16, b >> 16) << 16; }
inline uint32_t __vminu4(uint32_t a, uint32_t b) {
  uint32_t result = 0;
  for (int i = 0; i < 32; i += 8) result |= min(a >> i & 255, b >> i & 255) << i;
  return result;
}
inline uint32_t __vaddus4(uint32_t a, uint32_t b) {
  uint32_t result = 0;
  for (int i = 0; i < 32; i += 8) result |= min((a >> i & 255) + (b >> i & 255), 255u) << i;
  return result;
}
/// Reads a texture over an array. @param texture its address
template <class T>
T tex1Dfetch(cudaTextureObject_t texture, int index) {
  return reinterpret_cast<const T*>(texture)[index];
}
/// Returns the sum of the four bytes' absolute differences.
inline uint32_t __vsadu4(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (int i = 0; i < 32; i += 8) {
    const int difference = static_cast<int>(a >> i & 0xff) - static_cast<int>(b >> i & 0xff);
    sum += static_cast<uint32_t>(difference < 0 ? -difference : difference);
  }
  return sum;
}
inline uint32_t __vabsdiffu4(uint32_t a, uint32_t b) {
  uint32_t result = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const uint32_t x = a >> shift & 255, y = b >> shift & 255;
    result |= (x < y ? y - x : x - y) << shift;
  }
  return result;
}
inline int __popc(uint32_t value) { return __builtin_popcount(value); }
inline int __ffs(uint32_t value) { return __builtin_ffs(static_cast<int>(value)); }
inline int __clz(uint32_t value) { return value == 0 ? 32 : __builtin_clz(value); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __uint_as_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t __float_as_uint(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
/// Returns a b + c rounded down. The kernels' products and sums fit a double exactly.
inline float __fmaf_rd(float a, float b, float c) {
  const double exact = static_cast<double>(a) * b + c;
  const float nearest = static_cast<float>(exact);
  return nearest > exact ? std::nextafter(nearest, -INFINITY) : nearest;
}
// One thread runs at a time, so these are atomic.
template <class T>
T atomicMin(T* at, T value) {
  const T before = *at;
  *at = min(before, value);
  return before;
}
template <class T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at += value;
  return before;
}
template <class T>
T atomicOr(T* at, T value) {
  const T before = *at;
  *at |= value;
  return before;
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
  const T before = *at;
  if (before == expected) *at = value;
  return before;
}
