// SPDX-License-Identifier: Apache-2.0
// The weighted sum of three cells: the exact rounded products of exponential.h, with fused multiply-adds of floats.
#pragma once

#include "exponential_cells.cuh"

namespace depthwatt {
namespace gpu {
namespace {

/// A cell c as the number 2^23 + c, whose bits are kBiasBits | c.
constexpr uint32_t kBiasBits = 0x4b000000u;
constexpr float kBias = 8388608.f;
/// The start of a sum of three cells with this bias, chosen so that the sum is between 2^23 and 2^24 from its first
/// addend on (the pixel itself, whose weight is a third or more), and the bias at its end: 2^7 (2^16 - 1) more.
constexpr float kBiasedStart = 7340160.f, kBiasedEnd = 15728640.f;

/// A pixel's eight cells.
struct Cells {
  float cell[kEight];
  /// Loads cells as numbers with kBias.
  __device__ __forceinline__ void takeBiased(uint4 pairs) {
#pragma unroll
    for (int i = 0; i < kEight; ++i)
      cell[i] = __uint_as_float(__byte_perm(cellWord(pairs, i / 2), kBiasBits, i % 2 == 0 ? 0x7610 : 0x7632));
  }
  __device__ __forceinline__ void without(float bias) {
#pragma unroll
    for (int i = 0; i < kEight; ++i) cell[i] -= bias;
  }
  /// Returns the lower halves of their bits.
  __device__ __forceinline__ uint4 pairs() const {
    uint4 both;
#pragma unroll
    for (int word = 0; word < kWords; ++word)
      cellWord(both, word) = __byte_perm(__float_as_uint(cell[2 * word]), __float_as_uint(cell[2 * word + 1]), 0x5410);
    return both;
  }
};

/// Weights as parts of 2^16 - 1 and of 2^16, both exact.
struct Weights {
  float before, centre, after;
  __device__ __forceinline__ explicit Weights(uint32_t both) {
    const float scale = 1.f / 65536;
    before = __fmaf_rd(__uint_as_float(__byte_perm(both, kBiasBits, 0x7610)), scale, -kBias * scale);
    after = __fmaf_rd(__uint_as_float(__byte_perm(both, kBiasBits, 0x7632)), scale, -kBias * scale);
    centre = 65535 * scale - before - after;
  }
};

/// Computes start + the three products, each rounded down. From 2^23 to 2^24 a float's last bit is 1, so rounding the
/// sum down does that.
__device__ __forceinline__ void average(const Weights& w, const Cells& before, const Cells& centre, const Cells& after,
                                        float start, Cells& out) {
#pragma unroll
  for (int i = 0; i < kEight; ++i) {
    float sum = __fmaf_rd(w.centre, centre.cell[i], start);
    sum = __fmaf_rd(w.before, before.cell[i], sum);
    out.cell[i] = __fmaf_rd(w.after, after.cell[i], sum);
  }
}

}  // namespace
}  // namespace gpu
}  // namespace depthwatt
