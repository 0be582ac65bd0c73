// SPDX-License-Identifier: Apache-2.0
// Groups of 16 bytes with AVX-512: four per register. groups_scalar.h documents each name.

namespace {

constexpr int32_t kGroups = 4;
constexpr bool kHasByteCells = true;
using Bytes = __m512i;
using Halves = __m512i;

inline Bytes loadBytes(const void* p) { return _mm512_loadu_si512(p); }
inline Bytes loadBytesOnce(const void* p) {
  Bytes v = loadBytes(p);
  asm("" : "+v"(v));
  return v;
}
inline void storeBytes(void* p, Bytes v) { _mm512_storeu_si512(p, v); }
inline void storePast(void* p, Bytes v) { _mm512_stream_si512(static_cast<__m512i*>(p), v); }
inline void fetchAhead(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }
inline Bytes splatBytes(uint8_t v) { return _mm512_set1_epi8(static_cast<char>(v)); }
inline Bytes addBytes(Bytes a, Bytes b) { return _mm512_add_epi8(a, b); }
inline Bytes subBytes(Bytes a, Bytes b) { return _mm512_sub_epi8(a, b); }
inline Bytes addSaturatedBytes(Bytes a, Bytes b) { return _mm512_adds_epu8(a, b); }
inline Bytes minBytes(Bytes a, Bytes b) { return _mm512_min_epu8(a, b); }
inline Bytes maxBytes(Bytes a, Bytes b) { return _mm512_max_epu8(a, b); }
inline Bytes orBytes(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
inline Bytes xorBytes(Bytes a, Bytes b) { return _mm512_xor_si512(a, b); }
inline Bytes popcountBytes(Bytes v) { return _mm512_popcnt_epi8(v); }
inline Bytes chooseBytes(Bytes mask, Bytes yes, Bytes no) { return _mm512_ternarylogic_epi64(mask, yes, no, 0xca); }
inline Bytes shiftUpBytes(Bytes v, Bytes filler) { return _mm512_alignr_epi8(v, filler, 15); }
inline Bytes shiftDownBytes(Bytes v, Bytes filler) { return _mm512_alignr_epi8(filler, v, 1); }

inline Bytes lowestInGroupBytes(Bytes v) {
  v = _mm512_min_epu8(v, _mm512_alignr_epi8(v, v, 8));
  v = _mm512_min_epu8(v, _mm512_alignr_epi8(v, v, 4));
  v = _mm512_min_epu8(v, _mm512_alignr_epi8(v, v, 2));
  return _mm512_min_epu8(v, _mm512_alignr_epi8(v, v, 1));
}

inline __m512i everyGroup(__m128i group) { return _mm512_broadcast_i32x4(group); }

inline void spreadWords(const uint32_t* words, Bytes* planes) {
  const __m512i all = everyGroup(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
  const __m512i firstByte = _mm512_set_epi64(0x0c0c0c0c0c0c0c0c, 0x0c0c0c0c0c0c0c0c, 0x0808080808080808,
                                             0x0808080808080808, 0x0404040404040404, 0x0404040404040404, 0, 0);
  planes[0] = _mm512_shuffle_epi8(all, firstByte);
  planes[1] = _mm512_shuffle_epi8(all, _mm512_add_epi8(firstByte, _mm512_set1_epi8(1)));
  planes[2] = _mm512_shuffle_epi8(all, _mm512_add_epi8(firstByte, _mm512_set1_epi8(2)));
  planes[3] = _mm512_shuffle_epi8(all, _mm512_add_epi8(firstByte, _mm512_set1_epi8(3)));
}

inline Bytes spreadBytes(uint32_t packed) {
  const __m512i pick = _mm512_set_epi64(0x0303030303030303, 0x0303030303030303, 0x0202020202020202, 0x0202020202020202,
                                        0x0101010101010101, 0x0101010101010101, 0, 0);
  return _mm512_shuffle_epi8(_mm512_set1_epi32(static_cast<int>(packed)), pick);
}

inline void interleaveWords(const uint32_t* const* rows, ptrdiff_t at, uint32_t* to) {
  const auto row = [&](int32_t g) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[g] + at - 2 * g)); };
  const __m128i low01 = _mm_unpacklo_epi32(row(0), row(1)), high01 = _mm_unpackhi_epi32(row(0), row(1));
  const __m128i low23 = _mm_unpacklo_epi32(row(2), row(3)), high23 = _mm_unpackhi_epi32(row(2), row(3));
  auto* out = reinterpret_cast<__m128i*>(to);
  _mm_storeu_si128(out, _mm_unpacklo_epi64(low01, low23));
  _mm_storeu_si128(out + 1, _mm_unpackhi_epi64(low01, low23));
  _mm_storeu_si128(out + 2, _mm_unpacklo_epi64(high01, high23));
  _mm_storeu_si128(out + 3, _mm_unpackhi_epi64(high01, high23));
}

inline void copyGroup(void* to, const void* from) {
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm_loadu_si128(static_cast<const __m128i*>(from)));
}

inline Halves loadHalves(const void* p) { return _mm512_loadu_si512(p); }
inline void storeHalves(void* p, Halves v) { _mm512_storeu_si512(p, v); }
template <int32_t kLane>
inline void storeOneOfEach(uint16_t* p, Halves v) {
  const __m128i lanes =
      _mm_add_epi8(_mm_setr_epi8(0, 1, 16, 17, 32, 33, 48, 49, 0, 1, 16, 17, 32, 33, 48, 49), _mm_set1_epi8(2 * kLane));
  const __m512i picked = _mm512_permutexvar_epi8(_mm512_castsi128_si512(lanes), v);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm512_castsi512_si128(picked));
}
inline void storeRow(uint16_t* row, const uint16_t* steps, int32_t g) {
  const __m512i lanes = _mm512_set_epi16(60, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0, 60, 56, 52, 48,
                                         44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0);
  const __m512i picked = _mm512_permutex2var_epi16(_mm512_loadu_si512(steps),
                                                   _mm512_add_epi16(lanes, _mm512_set1_epi16(static_cast<int16_t>(g))),
                                                   _mm512_loadu_si512(steps + 32));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(row), _mm512_castsi512_si256(picked));
}
inline Halves splatHalves(uint16_t v) { return _mm512_set1_epi16(static_cast<int16_t>(v)); }
inline Halves addHalves(Halves a, Halves b) { return _mm512_add_epi16(a, b); }
inline Halves subHalves(Halves a, Halves b) { return _mm512_sub_epi16(a, b); }
inline Halves addSaturatedHalves(Halves a, Halves b) { return _mm512_adds_epu16(a, b); }
inline Halves minHalves(Halves a, Halves b) { return _mm512_min_epu16(a, b); }
inline Halves maxHalves(Halves a, Halves b) { return _mm512_max_epu16(a, b); }
inline Halves andHalves(Halves a, Halves b) { return _mm512_and_si512(a, b); }
inline Halves orHalves(Halves a, Halves b) { return _mm512_or_si512(a, b); }
inline Halves shiftLeftHalves(Halves v, int32_t bits) { return _mm512_sll_epi16(v, _mm_cvtsi32_si128(bits)); }
inline Halves shiftRightHalves(Halves v, int32_t bits) { return _mm512_srl_epi16(v, _mm_cvtsi32_si128(bits)); }
inline Halves chooseLessHalves(Halves a, Halves b, Halves yes, Halves no) {
  return _mm512_mask_blend_epi16(_mm512_cmplt_epu16_mask(a, b), no, yes);
}
inline Halves chooseHalves(Halves mask, Halves yes, Halves no) {
  return _mm512_ternarylogic_epi64(mask, yes, no, 0xca);
}
inline Halves shiftUpHalves(Halves v, Halves filler) { return _mm512_alignr_epi8(v, filler, 14); }
inline Halves shiftDownHalves(Halves v, Halves filler) { return _mm512_alignr_epi8(filler, v, 2); }
inline Halves lowestInGroupHalves(Halves v) {
  v = _mm512_min_epu16(v, _mm512_alignr_epi8(v, v, 8));
  v = _mm512_min_epu16(v, _mm512_alignr_epi8(v, v, 4));
  return _mm512_min_epu16(v, _mm512_alignr_epi8(v, v, 2));
}
inline Halves widenLow(Bytes v) { return _mm512_unpacklo_epi8(v, _mm512_setzero_si512()); }
inline Halves widenHigh(Bytes v) { return _mm512_unpackhi_epi8(v, _mm512_setzero_si512()); }
inline Halves maskLow(Bytes v) { return _mm512_unpacklo_epi8(v, v); }
inline Halves maskHigh(Bytes v) { return _mm512_unpackhi_epi8(v, v); }
inline Halves spreadHalves(const uint16_t* values) {
  const __m512i pick = _mm512_set_epi64(0x0706070607060706, 0x0706070607060706, 0x0504050405040504, 0x0504050405040504,
                                        0x0302030203020302, 0x0302030203020302, 0x0100010001000100, 0x0100010001000100);
  int64_t packed;
  std::memcpy(&packed, values, sizeof packed);
  return _mm512_shuffle_epi8(_mm512_set1_epi64(packed), pick);
}

using Weights = __m512i;
inline Weights pairWeights(int32_t first, int32_t second) {
  return splatHalves(static_cast<uint16_t>(first | second << 8));
}
inline Halves weighLow(Bytes a, Bytes b, Weights w) { return _mm512_maddubs_epi16(_mm512_unpacklo_epi8(a, b), w); }
inline Halves weighHigh(Bytes a, Bytes b, Weights w) { return _mm512_maddubs_epi16(_mm512_unpackhi_epi8(a, b), w); }

inline Weights differenceWeights() { return pairWeights(1, 255); }
inline Halves differenceLow(Bytes a, Bytes b, Weights w) { return weighLow(a, b, w); }
inline Halves differenceHigh(Bytes a, Bytes b, Weights w) { return weighHigh(a, b, w); }
inline Bytes orderedForHalves(Bytes v) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), v);
}
constexpr bool kHasPixelCosts = true;
inline Bytes pixelCosts(const void* own, const void* others) {
  int64_t pixel;
  std::memcpy(&pixel, own, sizeof pixel);
  const __m512i a = _mm512_set1_epi64(pixel);
  const auto* from = static_cast<const uint8_t*>(others);
  const auto four = [&](const uint8_t* p) {
    const __m512i s0 = _mm512_sad_epu8(a, loadu(p)), s1 = _mm512_slli_epi64(_mm512_sad_epu8(a, loadu(p + 64)), 16);
    const __m512i s2 = _mm512_slli_epi64(_mm512_sad_epu8(a, loadu(p + 128)), 32);
    const __m512i s3 = _mm512_slli_epi64(_mm512_sad_epu8(a, loadu(p + 192)), 48);
    return _mm512_or_si512(_mm512_ternarylogic_epi64(s0, s1, s2, 0xfe), s3);
  };
  const __m512i bytes = _mm512_packus_epi16(four(from), four(from + 256));
  // Pixel l of eight k is in lane l / 2, at 8 (k / 4) + 4 (l % 2) + k % 4.
  constexpr int64_t kFirst = 0x3430242014100400, kEach = 0x0101010101010101;
  const __m512i places =
      _mm512_setr_epi64(kFirst, kFirst + 8 * kEach, kFirst + kEach, kFirst + 9 * kEach, kFirst + 2 * kEach,
                        kFirst + 10 * kEach, kFirst + 3 * kEach, kFirst + 11 * kEach);
  return _mm512_permutexvar_epi8(places, bytes);
}
inline uint16_t lowestHalf(Halves v) {
  const __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
  const __m128i quarter = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  return static_cast<uint16_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(quarter)));
}
constexpr int32_t kPlaceBits = 1;
inline uint64_t equalPlaces(Halves first, Halves second, Halves wanted) {
  const __mmask32 low = _mm512_cmpeq_epi16_mask(first, wanted), high = _mm512_cmpeq_epi16_mask(second, wanted);
  return _mm512_kunpackd(high, low);
}

inline Bytes andBytes(Bytes a, Bytes b) { return _mm512_and_si512(a, b); }
using Differences = __m512i;
inline Differences noDifferences() { return _mm512_setzero_si512(); }
inline Differences addDifferences(Differences sums, Bytes a, Bytes b) {
  return _mm512_add_epi64(sums, _mm512_sad_epu8(a, b));
}
inline uint32_t totalSum(Differences sums) { return static_cast<uint32_t>(_mm512_reduce_add_epi64(sums)); }
constexpr int32_t kDifferencesApart = 8;
inline Differences doubledDifferences(Differences sums) { return _mm512_or_si512(sums, _mm512_slli_epi64(sums, 32)); }
inline Differences addDifferenceHalves(Differences a, Differences b) { return _mm512_add_epi32(a, b); }
inline void storePairTotals(int32_t* out, ptrdiff_t apart, Differences a, Differences b, Differences c, Differences d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi64(c, d), _mm512_unpackhi_epi64(c, d));
  const __m512i near = _mm512_shuffle_i64x2(ab, cd, 0x88), far = _mm512_shuffle_i64x2(ab, cd, 0xdd);
  const __m512i quarters = _mm512_add_epi32(near, far);
  const __m256i first = _mm512_castsi512_si256(quarters), second = _mm512_extracti64x4_epi64(quarters, 1);
  const auto both = [](__m256i v) { return _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)); };
  const __m128i abTotals = both(first), cdTotals = both(second);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), abTotals);
  _mm_storeh_pd(reinterpret_cast<double*>(out + apart), _mm_castsi128_pd(abTotals));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 2 * apart), cdTotals);
  _mm_storeh_pd(reinterpret_cast<double*>(out + 3 * apart), _mm_castsi128_pd(cdTotals));
}

[[gnu::always_inline]] inline Bytes spreadUnit(const void* p) {
  int64_t unit;
  std::memcpy(&unit, p, sizeof unit);
  return _mm512_set1_epi64(unit);
}
[[gnu::always_inline]] inline Bytes shiftUpUnits(Bytes v, Bytes before) { return _mm512_alignr_epi64(v, before, 7); }
[[gnu::always_inline]] inline Bytes shiftDownUnits(Bytes v, Bytes after) { return _mm512_alignr_epi64(after, v, 1); }
[[gnu::always_inline]] inline Bytes lowestUnit(Bytes v) {
  v = _mm512_min_epu8(v, _mm512_shuffle_i64x2(v, v, 0x4e));
  v = _mm512_min_epu8(v, _mm512_shuffle_i64x2(v, v, 0xb1));
  return _mm512_min_epu8(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC));
}
[[gnu::always_inline]] inline Bytes lowestUnits(const Bytes (&v)[8]) {
  const auto two = [](Bytes a, Bytes b) {
    return _mm512_min_epu8(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  };
  const auto both = [](Bytes a, Bytes b) {
    return _mm512_min_epu8(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
  };
  return both(both(two(v[0], v[1]), two(v[2], v[3])), both(two(v[4], v[5]), two(v[6], v[7])));
}
[[gnu::always_inline]] inline Bytes lowestWhereEqual(Bytes lowest, Bytes a, Bytes b, Bytes v) {
  return _mm512_mask_min_epu8(lowest, _mm512_cmpeq_epi8_mask(a, b), lowest, v);
}
[[gnu::always_inline]] inline Bytes lowestWhereAtLeast(Bytes lowest, Bytes a, Bytes b, Bytes v) {
  return _mm512_mask_min_epu8(lowest, _mm512_cmpge_epu8_mask(a, b), lowest, v);
}
inline Halves lowestGroupHalves(Halves v) {
  v = _mm512_min_epu16(v, _mm512_shuffle_i64x2(v, v, 0x4e));
  return _mm512_min_epu16(v, _mm512_shuffle_i64x2(v, v, 0xb1));
}
inline void storeFirstGroup(void* p, Halves v) {
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_castsi512_si128(v));
}
[[gnu::always_inline]] inline Bytes loadRuns(const uint8_t* base, const uint8_t* blocks, int32_t v) {
  const auto run = [&](int32_t i) { return reinterpret_cast<const __m256i*>(base + 32 * blocks[2 * v + i]); };
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(run(0))), _mm256_loadu_si256(run(1)), 1);
}
[[gnu::always_inline]] inline void storeRuns(uint8_t* base, const uint8_t* blocks, int32_t v, Bytes value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(base + 32 * blocks[2 * v]), _mm512_castsi512_si256(value));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(base + 32 * blocks[2 * v + 1]), _mm512_extracti64x4_epi64(value, 1));
}
template <int32_t kBits>
inline Bytes zipLow(Bytes a, Bytes b) {
  if constexpr (kBits == 8) return _mm512_unpacklo_epi8(a, b);
  if constexpr (kBits == 16) return _mm512_unpacklo_epi16(a, b);
  if constexpr (kBits == 32) return _mm512_unpacklo_epi32(a, b);
  return _mm512_unpacklo_epi64(a, b);
}
template <int32_t kBits>
inline Bytes zipHigh(Bytes a, Bytes b) {
  if constexpr (kBits == 8) return _mm512_unpackhi_epi8(a, b);
  if constexpr (kBits == 16) return _mm512_unpackhi_epi16(a, b);
  if constexpr (kBits == 32) return _mm512_unpackhi_epi32(a, b);
  return _mm512_unpackhi_epi64(a, b);
}

}  // namespace
