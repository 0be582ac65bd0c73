// SPDX-License-Identifier: Apache-2.0
// The end of a row's selection: sub-pixel, uniqueness and confidence from the sums around each winner. Compiled once per
// instruction set. No include guard on purpose.
//
// The quotients are those of whole numbers below 2^24 by whole numbers below 2^18, and smaller than 256: an IEEE single
// division cannot round one up to the next whole number, so truncating it is the exact integer division.

namespace {

constexpr int32_t kFinished = kGroups * 4;  // pixels at once
using Words32 [[gnu::vector_size(kFinished * 4)]] = int32_t;
using Floats32 [[gnu::vector_size(kFinished * 4)]] = float;
using Words64 [[gnu::vector_size(kFinished * 8)]] = uint64_t;
using Words16 [[gnu::vector_size(kFinished * 2)]] = int16_t;
using Unsigned16 [[gnu::vector_size(kFinished * 2)]] = uint16_t;
using Unsigned8 [[gnu::vector_size(kFinished)]] = uint8_t;

[[gnu::always_inline]] inline Words32 widened(const uint16_t* from) {
  Unsigned16 v;
  std::memcpy(&v, from, sizeof v);
  return __builtin_convertvector(v, Words32);
}

[[gnu::always_inline]] inline Words32 dividedExactly(Words32 a, Words32 b) {
  return __builtin_convertvector(__builtin_convertvector(a, Floats32) / __builtin_convertvector(b, Floats32), Words32);
}

[[gnu::always_inline]] inline Words32 chosen(Words32 mask, Words32 yes, Words32 no) { return (mask & yes) | (~mask & no); }

template <class Narrow>
[[gnu::always_inline]] inline void storeNarrowed(void* to, Words32 v, int32_t count) {
  const Narrow narrow = __builtin_convertvector(v, Narrow);
  if (count >= kFinished) std::memcpy(to, &narrow, sizeof narrow);
  else std::memcpy(to, &narrow, static_cast<size_t>(count) * (sizeof narrow / kFinished));
}

template <int32_t kField>
[[gnu::always_inline]] inline Words32 fieldOf(const Words64& records) {
  return __builtin_convertvector((records >> (16 * kField)) & 0xffff, Words32);
}

/// winners: d0, S-, S0, S+ from the lowest 16 bits up, seconds: S2 above stripeBits bits of no interest; both readable for kWinnerMargin pixels past the row.
[[gnu::noinline]] void finishRow(const SgmParameters parameters, int32_t invalidSum, int32_t stripeBits,
                                 const uint64_t* winners, const uint16_t* seconds, int32_t width, int16_t* disparityQ4, int16_t* disparity,
                                 uint8_t* confidence) {
  const Words32 zero = {}, one = zero + 1, invalid = zero + kInvalidDisparity;
  const bool wantsSecond = confidence != nullptr || parameters.uniqueness > 0;
  for (int32_t x = 0; x < width; x += kFinished) {
    Words64 records;
    std::memcpy(&records, winners + x, sizeof records);
    const Words32 d0 = fieldOf<0>(records) + parameters.minDisparity;
    const Words32 below = fieldOf<1>(records), best = fieldOf<2>(records), above = fieldOf<3>(records);
    const Words32 exists = best < invalidSum;
    Words32 fine = d0 << 4;
    if (parameters.subpixel) {
      const Words32 q = below + above - 2 * best;
      const Words32 curved = exists & (below < invalidSum) & (above < invalidSum) & (q > 0);
      // 8 is added and taken off again: of a positive quotient, truncation is the floor.
      const Words32 quotient = dividedExactly(16 * (below - above) + 17 * q, chosen(curved, 2 * q, one));
      fine += chosen(curved, quotient - 8, zero);
    }
    Words32 accepted = exists, certainty = zero;
    if (wantsSecond) {
      const Words32 second = widened(seconds + x) >> stripeBits;
      const Words32 rivalled = exists & (second < invalidSum);
      if (parameters.uniqueness > 0) {
        accepted &= ~(rivalled & (second * (100 - parameters.uniqueness) < 100 * best));
      }
      const Words32 known = accepted & rivalled;
      const Words32 divisor = chosen(known & (second > 1), second, one);
      certainty = chosen(known, dividedExactly(chosen(known, 255 * (second - best), zero), divisor), zero);
    }
    const int32_t count = width - x;
    storeNarrowed<Words16>(disparityQ4 + x, chosen(accepted, fine, invalid), count);
    storeNarrowed<Words16>(disparity + x, chosen(exists, d0, invalid), count);
    if (confidence != nullptr) storeNarrowed<Unsigned8>(confidence + x, certainty, count);
  }
}

}  // namespace
