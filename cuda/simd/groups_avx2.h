// SPDX-License-Identifier: Apache-2.0
// Groups of 16 bytes with AVX2: two per register. groups_scalar.h documents each name.

namespace {

constexpr int32_t kGroups = 2;
constexpr bool kHasByteCells = true;
using Bytes = __m256i;
using Halves = __m256i;

inline Bytes loadBytes(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline Bytes loadBytesOnce(const void* p) {
  Bytes v = loadBytes(p);
  asm("" : "+x"(v));
  return v;
}
inline void storeBytes(void* p, Bytes v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
inline void storePast(void* p, Bytes v) { _mm256_stream_si256(static_cast<__m256i*>(p), v); }
inline void fetchAhead(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }
inline Bytes splatBytes(uint8_t v) { return _mm256_set1_epi8(static_cast<char>(v)); }
inline Bytes addBytes(Bytes a, Bytes b) { return _mm256_add_epi8(a, b); }
inline Bytes subBytes(Bytes a, Bytes b) { return _mm256_sub_epi8(a, b); }
inline Bytes addSaturatedBytes(Bytes a, Bytes b) { return _mm256_adds_epu8(a, b); }
inline Bytes minBytes(Bytes a, Bytes b) { return _mm256_min_epu8(a, b); }
inline Bytes maxBytes(Bytes a, Bytes b) { return _mm256_max_epu8(a, b); }
inline Bytes orBytes(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
inline Bytes xorBytes(Bytes a, Bytes b) { return _mm256_xor_si256(a, b); }
inline Bytes popcountBytes(Bytes v) {
  const __m256i counts =
      _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i nibble = _mm256_set1_epi8(15);
  return _mm256_add_epi8(_mm256_shuffle_epi8(counts, _mm256_and_si256(v, nibble)),
                         _mm256_shuffle_epi8(counts, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble)));
}
inline Bytes chooseBytes(Bytes mask, Bytes yes, Bytes no) { return _mm256_blendv_epi8(no, yes, mask); }
inline Bytes shiftUpBytes(Bytes v, Bytes filler) { return _mm256_alignr_epi8(v, filler, 15); }
inline Bytes shiftDownBytes(Bytes v, Bytes filler) { return _mm256_alignr_epi8(filler, v, 1); }

inline Bytes lowestInGroupBytes(Bytes v) {
  v = _mm256_min_epu8(v, _mm256_alignr_epi8(v, v, 8));
  v = _mm256_min_epu8(v, _mm256_alignr_epi8(v, v, 4));
  v = _mm256_min_epu8(v, _mm256_alignr_epi8(v, v, 2));
  return _mm256_min_epu8(v, _mm256_alignr_epi8(v, v, 1));
}

inline void spreadWords(const uint32_t* words, Bytes* planes) {
  int64_t packed;
  std::memcpy(&packed, words, sizeof packed);
  const __m256i all = _mm256_set1_epi64x(packed);
  const __m256i firstByte = _mm256_set_epi64x(0x0404040404040404, 0x0404040404040404, 0, 0);
  planes[0] = _mm256_shuffle_epi8(all, firstByte);
  planes[1] = _mm256_shuffle_epi8(all, _mm256_add_epi8(firstByte, _mm256_set1_epi8(1)));
  planes[2] = _mm256_shuffle_epi8(all, _mm256_add_epi8(firstByte, _mm256_set1_epi8(2)));
  planes[3] = _mm256_shuffle_epi8(all, _mm256_add_epi8(firstByte, _mm256_set1_epi8(3)));
}

inline Bytes spreadBytes(uint32_t packed) {
  const __m256i pick = _mm256_set_epi64x(0x0101010101010101, 0x0101010101010101, 0, 0);
  return _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(packed)), pick);
}

inline void interleaveWords(const uint32_t* const* rows, ptrdiff_t at, uint32_t* to) {
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[0] + at));
  const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[1] + at - 2));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi32(a, b));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 4), _mm_unpackhi_epi32(a, b));
}

inline void copyGroup(void* to, const void* from) {
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm_loadu_si128(static_cast<const __m128i*>(from)));
}

inline Halves loadHalves(const void* p) { return loadBytes(p); }
inline void storeHalves(void* p, Halves v) { storeBytes(p, v); }
template <int32_t kLane>
inline void storeOneOfEach(uint16_t* p, Halves v) {
  const __m256i first = _mm256_srli_si256(v, 2 * kLane);
  p[0] = static_cast<uint16_t>(_mm256_extract_epi16(first, 0));
  p[1] = static_cast<uint16_t>(_mm256_extract_epi16(first, 8));
}
inline void storeRow(uint16_t* row, const uint16_t* steps, int32_t g) {
  const __m256i low = _mm256_set1_epi32(0xffff);
  const __m128i shift = _mm_cvtsi32_si128(16 * g);
  const __m256i a = _mm256_and_si256(_mm256_srl_epi32(loadBytes(steps), shift), low);
  const __m256i b = _mm256_and_si256(_mm256_srl_epi32(loadBytes(steps + 16), shift), low);
  storeBytes(row, _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xd8));
}
inline Halves splatHalves(uint16_t v) { return _mm256_set1_epi16(static_cast<int16_t>(v)); }
inline Halves addHalves(Halves a, Halves b) { return _mm256_add_epi16(a, b); }
inline Halves subHalves(Halves a, Halves b) { return _mm256_sub_epi16(a, b); }
inline Halves addSaturatedHalves(Halves a, Halves b) { return _mm256_adds_epu16(a, b); }
inline Halves minHalves(Halves a, Halves b) { return _mm256_min_epu16(a, b); }
inline Halves maxHalves(Halves a, Halves b) { return _mm256_max_epu16(a, b); }
inline Halves andHalves(Halves a, Halves b) { return _mm256_and_si256(a, b); }
inline Halves orHalves(Halves a, Halves b) { return _mm256_or_si256(a, b); }
inline Halves shiftLeftHalves(Halves v, int32_t bits) { return _mm256_sll_epi16(v, _mm_cvtsi32_si128(bits)); }
inline Halves shiftRightHalves(Halves v, int32_t bits) { return _mm256_srl_epi16(v, _mm_cvtsi32_si128(bits)); }
inline Halves chooseLessHalves(Halves a, Halves b, Halves yes, Halves no) {
  return _mm256_blendv_epi8(yes, no, _mm256_cmpeq_epi16(_mm256_max_epu16(a, b), a));
}
inline Halves chooseHalves(Halves mask, Halves yes, Halves no) { return _mm256_blendv_epi8(no, yes, mask); }
inline Halves shiftUpHalves(Halves v, Halves filler) { return _mm256_alignr_epi8(v, filler, 14); }
inline Halves shiftDownHalves(Halves v, Halves filler) { return _mm256_alignr_epi8(filler, v, 2); }
inline Halves lowestInGroupHalves(Halves v) {
  v = _mm256_min_epu16(v, _mm256_alignr_epi8(v, v, 8));
  v = _mm256_min_epu16(v, _mm256_alignr_epi8(v, v, 4));
  return _mm256_min_epu16(v, _mm256_alignr_epi8(v, v, 2));
}
inline Halves widenLow(Bytes v) { return _mm256_unpacklo_epi8(v, _mm256_setzero_si256()); }
inline Halves widenHigh(Bytes v) { return _mm256_unpackhi_epi8(v, _mm256_setzero_si256()); }
inline Halves maskLow(Bytes v) { return _mm256_unpacklo_epi8(v, v); }
inline Halves maskHigh(Bytes v) { return _mm256_unpackhi_epi8(v, v); }
inline Halves spreadHalves(const uint16_t* values) {
  const __m256i pick =
      _mm256_set_epi64x(0x0302030203020302, 0x0302030203020302, 0x0100010001000100, 0x0100010001000100);
  int32_t packed;
  std::memcpy(&packed, values, sizeof packed);
  return _mm256_shuffle_epi8(_mm256_set1_epi32(packed), pick);
}

using Weights = __m256i;
inline Weights pairWeights(int32_t first, int32_t second) {
  return splatHalves(static_cast<uint16_t>(first | second << 8));
}
inline Halves weighLow(Bytes a, Bytes b, Weights w) { return _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), w); }
inline Halves weighHigh(Bytes a, Bytes b, Weights w) { return _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), w); }

inline Weights differenceWeights() { return pairWeights(1, 255); }
inline Halves differenceLow(Bytes a, Bytes b, Weights w) { return weighLow(a, b, w); }
inline Halves differenceHigh(Bytes a, Bytes b, Weights w) { return weighHigh(a, b, w); }
inline Bytes orderedForHalves(Bytes v) { return _mm256_permute4x64_epi64(v, 0xd8); }
constexpr bool kHasPixelCosts = true;
inline Bytes pixelCosts(const void* own, const void* others) {
  int64_t pixel;
  std::memcpy(&pixel, own, sizeof pixel);
  const __m256i a = _mm256_set1_epi64x(pixel);
  const auto* from = static_cast<const uint8_t*>(others);
  const auto four = [&](const uint8_t* p) {
    const __m256i s0 = _mm256_sad_epu8(a, loadu(p)), s1 = _mm256_slli_epi64(_mm256_sad_epu8(a, loadu(p + 32)), 16);
    const __m256i s2 = _mm256_slli_epi64(_mm256_sad_epu8(a, loadu(p + 64)), 32);
    const __m256i s3 = _mm256_slli_epi64(_mm256_sad_epu8(a, loadu(p + 96)), 48);
    return _mm256_or_si256(_mm256_or_si256(s0, s1), _mm256_or_si256(s2, s3));
  };
  const __m256i bytes = _mm256_packus_epi16(four(from), four(from + 128));
  // In a lane: pixels 0 and 1 (2 and 3) of every four, pairs of fours 0, 1, 4, 5 and then 2, 3, 6, 7.
  const __m256i pairs = _mm256_shuffle_epi8(
      bytes, _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15)));
  return _mm256_shuffle_epi8(
      _mm256_permute4x64_epi64(pairs, 0xd8),
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15)));
}
inline uint16_t lowestHalf(Halves v) {
  const __m128i lower = _mm_min_epu16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  return static_cast<uint16_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(lower)));
}
constexpr int32_t kPlaceBits = 1;
inline uint64_t equalPlaces(Halves first, Halves second, Halves wanted) {
  const __m256i bytes = _mm256_packs_epi16(_mm256_cmpeq_epi16(first, wanted), _mm256_cmpeq_epi16(second, wanted));
  return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, 0xd8)));
}

inline Bytes andBytes(Bytes a, Bytes b) { return _mm256_and_si256(a, b); }
using Differences = __m256i;
/// Stores 64-bit halves, `apart` numbers from one to the next.
inline void storePairs(int32_t* out, ptrdiff_t apart, __m128i ab, __m128i cd) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), ab);
  _mm_storeh_pd(reinterpret_cast<double*>(out + apart), _mm_castsi128_pd(ab));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 2 * apart), cd);
  _mm_storeh_pd(reinterpret_cast<double*>(out + 3 * apart), _mm_castsi128_pd(cd));
}
inline Differences noDifferences() { return _mm256_setzero_si256(); }
inline Differences addDifferences(Differences sums, Bytes a, Bytes b) {
  return _mm256_add_epi64(sums, _mm256_sad_epu8(a, b));
}
inline uint32_t totalSum(Differences sums) {
  const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two))));
}
constexpr int32_t kDifferencesApart = 4;
inline Differences doubledDifferences(Differences sums) { return _mm256_or_si256(sums, _mm256_slli_epi64(sums, 32)); }
inline Differences addDifferenceHalves(Differences a, Differences b) { return _mm256_add_epi32(a, b); }
inline void storePairTotals(int32_t* out, ptrdiff_t apart, Differences a, Differences b, Differences c, Differences d) {
  const __m256i ab = _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
  const __m256i cd = _mm256_add_epi32(_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
  const __m256i all =
      _mm256_add_epi32(_mm256_permute2x128_si256(ab, cd, 0x20), _mm256_permute2x128_si256(ab, cd, 0x31));
  storePairs(out, apart, _mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

[[gnu::always_inline]] inline Bytes spreadUnit(const void* p) {
  int64_t unit;
  std::memcpy(&unit, p, sizeof unit);
  return _mm256_set1_epi64x(unit);
}
[[gnu::always_inline]] inline Bytes shiftUpUnits(Bytes v, Bytes before) {
  return _mm256_alignr_epi8(v, _mm256_permute2x128_si256(before, v, 0x21), 8);
}
[[gnu::always_inline]] inline Bytes shiftDownUnits(Bytes v, Bytes after) {
  return _mm256_alignr_epi8(_mm256_permute2x128_si256(v, after, 0x21), v, 8);
}
[[gnu::always_inline]] inline Bytes lowestUnit(Bytes v) {
  v = _mm256_min_epu8(v, _mm256_permute2x128_si256(v, v, 1));
  return _mm256_min_epu8(v, _mm256_shuffle_epi32(v, 0x4e));
}
[[gnu::always_inline]] inline Bytes lowestUnits(const Bytes (&v)[4]) {
  const auto two = [](Bytes a, Bytes b) {
    return _mm256_min_epu8(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
  };
  const Bytes ab = two(v[0], v[1]), cd = two(v[2], v[3]);
  return _mm256_min_epu8(_mm256_permute2x128_si256(ab, cd, 0x20), _mm256_permute2x128_si256(ab, cd, 0x31));
}
[[gnu::always_inline]] inline Bytes lowestWhereEqual(Bytes lowest, Bytes a, Bytes b, Bytes v) {
  const __m256i unequal = _mm256_xor_si256(_mm256_cmpeq_epi8(a, b), splatBytes(0xff));
  return _mm256_min_epu8(lowest, _mm256_or_si256(v, unequal));
}
[[gnu::always_inline]] inline Bytes lowestWhereAtLeast(Bytes lowest, Bytes a, Bytes b, Bytes v) {
  return lowestWhereEqual(lowest, _mm256_max_epu8(a, b), a, v);
}
inline Halves lowestGroupHalves(Halves v) { return _mm256_min_epu16(v, _mm256_permute2x128_si256(v, v, 1)); }
inline void storeFirstGroup(void* p, Halves v) {
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_castsi256_si128(v));
}
[[gnu::always_inline]] inline Bytes loadRuns(const uint8_t* base, const uint8_t* blocks, int32_t v) {
  return loadBytes(base + 32 * blocks[v]);
}
[[gnu::always_inline]] inline void storeRuns(uint8_t* base, const uint8_t* blocks, int32_t v, Bytes value) {
  storeBytes(base + 32 * blocks[v], value);
}
template <int32_t kBits>
inline Bytes zipLow(Bytes a, Bytes b) {
  if constexpr (kBits == 8) return _mm256_unpacklo_epi8(a, b);
  if constexpr (kBits == 16) return _mm256_unpacklo_epi16(a, b);
  if constexpr (kBits == 32) return _mm256_unpacklo_epi32(a, b);
  return _mm256_unpacklo_epi64(a, b);
}
template <int32_t kBits>
inline Bytes zipHigh(Bytes a, Bytes b) {
  if constexpr (kBits == 8) return _mm256_unpackhi_epi8(a, b);
  if constexpr (kBits == 16) return _mm256_unpackhi_epi16(a, b);
  if constexpr (kBits == 32) return _mm256_unpackhi_epi32(a, b);
  return _mm256_unpackhi_epi64(a, b);
}

}  // namespace
