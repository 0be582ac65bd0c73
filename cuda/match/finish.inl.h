// SPDX-License-Identifier: Apache-2.0
// Finishes a selection: sub-pixel, uniqueness and confidence from the sums around each winner. The vector code of
// match/sgm and match/sad includes it, so it is compiled once per instruction set.
//
// Quotients are of whole numbers below 2^24 by whole numbers below 2^18, and smaller than 256. An IEEE single division
// cannot round such a quotient up to the next whole number, so truncating it is the exact integer division.

#pragma once

#include "matching.h"

namespace {

constexpr int32_t kFinished = kGroups * 4;  // pixels at once: four steps
using Words32 [[gnu::vector_size(kFinished * 4)]] = int32_t;
using Floats32 [[gnu::vector_size(kFinished * 4)]] = float;
using Unsigned16 [[gnu::vector_size(kFinished * 2)]] = uint16_t;

[[gnu::always_inline]] inline Words32 widened(const uint16_t* from) {
  Unsigned16 v;
  std::memcpy(&v, from, sizeof v);
  return __builtin_convertvector(v, Words32);
}

[[gnu::always_inline]] inline void storeNarrowed(uint16_t* to, Words32 v) {
  const Unsigned16 narrow = __builtin_convertvector(v, Unsigned16);
  std::memcpy(to, &narrow, sizeof narrow);
}

[[gnu::always_inline]] inline Words32 chosen(Words32 mask, Words32 yes, Words32 no) {
  return (mask & yes) | (~mask & no);
}

[[gnu::always_inline]] inline Words32 dividedExactly(Words32 a, Words32 b) {
  return __builtin_convertvector(__builtin_convertvector(a, Floats32) / __builtin_convertvector(b, Floats32), Words32);
}

/// Works in the order of steps. @param seconds S2 above stripeBits unused bits. disparityQ4 overwrites S-, the winner's
/// whole disparity overwrites d0, and the confidence overwrites S2. May process up to kFinished pixels more than
/// `pixels`.
[[gnu::noinline]] void finishPixels(const SgmParameters parameters, int32_t invalidSum, int32_t stripeBits,
                                    const Picked picked, uint16_t* seconds, bool wantsSecond, int32_t pixels) {
  const Words32 zero = {}, one = zero + 1, invalid = zero + kInvalidDisparity;
  for (int32_t i = 0; i < pixels; i += kFinished) {
    const Words32 d0 = widened(picked.winner + i) + parameters.minDisparity;
    const Words32 below = widened(picked.below + i), best = widened(picked.best + i), above = widened(picked.above + i);
    const Words32 exists = best < invalidSum;
    Words32 fine = d0 << 4;
    if (parameters.subpixel) {
      const Words32 q = below + above - 2 * best;
      const Words32 curved = exists & (below < invalidSum) & (above < invalidSum) & (q > 0);
      // Add 8 and subtract it again: for a positive quotient, truncation is the floor.
      const Words32 quotient = dividedExactly(16 * (below - above) + 17 * q, chosen(curved, 2 * q, one));
      fine += chosen(curved, quotient - 8, zero);
    }
    Words32 accepted = exists, certainty = zero;
    if (wantsSecond) {
      const Words32 second = widened(seconds + i) >> stripeBits;
      const Words32 hasSecond = exists & (second < invalidSum);
      if (parameters.uniqueness > 0) {
        accepted &= ~(hasSecond & (second * (100 - parameters.uniqueness) < 100 * best));
      }
      const Words32 known = accepted & hasSecond;
      const Words32 divisor = chosen(known & (second > 1), second, one);
      certainty = chosen(known, dividedExactly(chosen(known, 255 * (second - best), zero), divisor), zero);
    }
    storeNarrowed(picked.below + i, chosen(accepted, fine, invalid));
    storeNarrowed(picked.winner + i, chosen(exists, d0, invalid));
    if (wantsSecond) storeNarrowed(seconds + i, certainty);
  }
}

}  // namespace
