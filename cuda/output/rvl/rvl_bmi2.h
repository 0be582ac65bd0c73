// SPDX-License-Identifier: Apache-2.0
// Encodes eight values at a time, for x86-64 with AVX2 and BMI2. Each value has 16 bits, room for four nibbles; its
// nibbles are marked, and one instruction (PEXT) packs four values' marked nibbles.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "rvl_stream.h"
#include "rvl_values.h"

#define DEPTHWATT_BMI2 __attribute__((target("avx2,bmi2,popcnt")))

namespace depthwatt {

constexpr int kRvlGroup = 8;
/// Folded differences below this have at most four nibbles.
constexpr int kRvlFourNibbles = 4096;

template <class Value>
__m128i eightValues(const void* in);

template <>
DEPTHWATT_BMI2 inline __m128i eightValues<DepthValue>(const void* in) {
  return _mm_loadu_si128(static_cast<const __m128i*>(in));
}

template <>
DEPTHWATT_BMI2 inline __m128i eightValues<DisparityValue>(const void* in) {
  const __m128i raised = _mm_add_epi16(_mm_loadu_si128(static_cast<const __m128i*>(in)), _mm_set1_epi16(1));
  return _mm_max_epi16(raised, _mm_setzero_si128());
}

DEPTHWATT_BMI2 inline __m128i extractBits(__m128i values, int mask) {
  return _mm_and_si128(values, _mm_set1_epi16(static_cast<short>(mask)));
}

/// Returns `mark` where a value is above `least`.
DEPTHWATT_BMI2 inline __m128i markAbove(__m128i values, int least, int mark) {
  return extractBits(_mm_cmpgt_epi16(values, _mm_set1_epi16(static_cast<short>(least))), mark);
}

/// Writes up to 64 bits, more than put() accepts.
DEPTHWATT_BMI2 inline void putLong(RvlStream& stream, uint64_t nibbles, uint32_t count) {
  const uint64_t word = stream.pending | nibbles << stream.bits;
  std::memcpy(stream.out, &word, 8);
  const uint32_t total = stream.bits + count;
  // With 4 bits pending and 64 new ones the topmost 4 do not fit.
  const uint64_t beyond = stream.bits == 0 ? 0 : nibbles >> 60;
  stream.pending = total < 64 ? word >> (total & ~7u) : beyond;
  stream.out += total >> 3;
  stream.bits = total & 7;
}

/// Encodes the whole groups of `in` to `end`, none of them 0, with in[-1] before them. Returns where it stopped.
template <class Value, class Pixel>
DEPTHWATT_BMI2 const Pixel* putGroups(RvlStream& stream, const Pixel* in, const Pixel* end) {
  const __m256i tooLong = _mm256_set1_epi32(-kRvlFourNibbles);
  RvlStream local = stream;
  for (; end - in >= kRvlGroup; in += kRvlGroup) {
    const __m256i step = _mm256_sub_epi32(_mm256_cvtepu16_epi32(eightValues<Value>(in)),
                                          _mm256_cvtepu16_epi32(eightValues<Value>(in - 1)));
    const __m256i folded = _mm256_xor_si256(_mm256_slli_epi32(step, 1), _mm256_srai_epi32(step, 31));
    if (__builtin_expect(!_mm256_testz_si256(folded, tooLong), 0)) {
      for (int i = 0; i < kRvlGroup; ++i) {
        const RvlCode code = differenceCode(Value::of(in[i]), Value::of(in[i - 1]));
        local.put(code.nibbles, code.bits);
      }
      continue;
    }
    const __m128i f = _mm_packus_epi32(_mm256_castsi256_si128(folded), _mm256_extracti128_si256(folded, 1));
    const __m128i groups =
        _mm_or_si128(_mm_or_si128(extractBits(f, 0x7), _mm_slli_epi16(extractBits(f, 0x38), 1)),
                     _mm_or_si128(_mm_slli_epi16(extractBits(f, 0x1c0), 2), _mm_slli_epi16(extractBits(f, 0xe00), 3)));
    const __m128i marks = _mm_or_si128(_mm_or_si128(_mm_set1_epi16(0xf), markAbove(f, 7, 0xf0)),
                                       _mm_or_si128(markAbove(f, 63, 0xf00), markAbove(f, 511, 0xf000)));
    // Set the continue bit where the next nibble is marked.
    const __m128i nibbles = _mm_or_si128(groups, _mm_and_si128(_mm_srli_epi16(marks, 4), _mm_set1_epi16(0x888)));
    const auto firstMarks = static_cast<uint64_t>(_mm_cvtsi128_si64(marks));
    const auto lastMarks = static_cast<uint64_t>(_mm_extract_epi64(marks, 1));
    const uint64_t first = _pext_u64(static_cast<uint64_t>(_mm_cvtsi128_si64(nibbles)), firstMarks);
    const uint64_t last = _pext_u64(static_cast<uint64_t>(_mm_extract_epi64(nibbles, 1)), lastMarks);
    const auto firstBits = static_cast<uint32_t>(_mm_popcnt_u64(firstMarks));
    const auto lastBits = static_cast<uint32_t>(_mm_popcnt_u64(lastMarks));
    // Always two steps. Whether both halves fit one step is unpredictable for real depth, and a mispredicted branch
    // costs more than the step. Halves above 56 bits, of four long differences, are rare.
    if (__builtin_expect(firstBits <= 56 && lastBits <= 56, 1)) {
      local.put(first, firstBits);
      local.put(last, lastBits);
    } else {
      putLong(local, first, firstBits);
      putLong(local, last, lastBits);
    }
  }
  stream = local;
  return in;
}

/// turnWords(), eight words per step.
DEPTHWATT_BMI2 inline void turnWordsBy32(uint8_t* first, const uint8_t* end) {
  const __m256i reversed =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
  const __m256i low = _mm256_set1_epi8(0xf);
  for (; end - first >= 32; first += 32) {
    auto* const at = reinterpret_cast<__m256i*>(first);
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_loadu_si256(at), reversed);
    _mm256_storeu_si256(at, _mm256_or_si256(_mm256_slli_epi16(_mm256_and_si256(bytes, low), 4),
                                            _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low)));
  }
  turnWords(first, end);
}

}  // namespace depthwatt
