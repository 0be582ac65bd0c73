// SPDX-License-Identifier: Apache-2.0
// The vector functions with 64 lanes of AVX-512 (F, BW, VL, VBMI, BITALG); vec_scalar.h documents each name.

namespace {

constexpr int32_t kLanes = 64;
using U8 = __m512i;

inline __m512i loadu(const void* p) { return _mm512_loadu_si512(p); }
inline void storeu(void* p, __m512i v) { _mm512_storeu_si512(p, v); }

inline U8 zeroU8() { return _mm512_setzero_si512(); }
inline U8 add(U8 a, U8 b) { return _mm512_add_epi8(a, b); }
inline U8 sub(U8 a, U8 b) { return _mm512_sub_epi8(a, b); }

inline U8 maskGreaterEqual(const uint8_t* a, const uint8_t* b) {
  return _mm512_movm_epi8(_mm512_cmpge_epu8_mask(loadu(a), loadu(b)));
}

inline U8 maskGreaterEqual(const uint16_t* a, const uint16_t* b) {
  const uint64_t low = _mm512_cmpge_epu16_mask(loadu(a), loadu(b));
  const uint64_t high = _mm512_cmpge_epu16_mask(loadu(a + 32), loadu(b + 32));
  return _mm512_movm_epi8(low | high << 32);
}

inline U8 maskGreaterEqual(const int16_t* a, const int16_t* b) {
  const uint64_t low = _mm512_cmpge_epi16_mask(loadu(a), loadu(b));
  const uint64_t high = _mm512_cmpge_epi16_mask(loadu(a + 32), loadu(b + 32));
  return _mm512_movm_epi8(low | high << 32);
}

inline void storeInterleaved(uint32_t* out, U8 b0, U8 b1, U8 b2, U8 b3) {
  const __m512i low01 = _mm512_unpacklo_epi8(b0, b1), high01 = _mm512_unpackhi_epi8(b0, b1);
  const __m512i low23 = _mm512_unpacklo_epi8(b2, b3), high23 = _mm512_unpackhi_epi8(b2, b3);
  const __m512i w0 = _mm512_unpacklo_epi16(low01, low23), w1 = _mm512_unpackhi_epi16(low01, low23);
  const __m512i w2 = _mm512_unpacklo_epi16(high01, high23), w3 = _mm512_unpackhi_epi16(high01, high23);
  // Quarter q of w0..w3 has pixels 16 q to 16 q + 15: a 4 x 4 transpose of quarters.
  const __m512i a = _mm512_shuffle_i64x2(w0, w1, 0x44), b = _mm512_shuffle_i64x2(w2, w3, 0x44);
  const __m512i c = _mm512_shuffle_i64x2(w0, w1, 0xee), d = _mm512_shuffle_i64x2(w2, w3, 0xee);
  storeu(out, _mm512_shuffle_i64x2(a, b, 0x88));
  storeu(out + 16, _mm512_shuffle_i64x2(a, b, 0xdd));
  storeu(out + 32, _mm512_shuffle_i64x2(c, d, 0x88));
  storeu(out + 48, _mm512_shuffle_i64x2(c, d, 0xdd));
}

inline U8 loadU8(const uint8_t* p) { return loadu(p); }
inline void storeU8(uint8_t* p, U8 v) { storeu(p, v); }
inline U8 splatU8(uint8_t v) { return _mm512_set1_epi8(static_cast<char>(v)); }
inline U8 subSaturatedU8(U8 a, U8 b) { return _mm512_subs_epu8(a, b); }
inline U8 maskGreaterEqualU8(U8 a, U8 b) { return _mm512_movm_epi8(_mm512_cmpge_epu8_mask(a, b)); }

// ---- Refinement and depth.

constexpr int32_t kLanesI16 = 32;
using I16 = __m512i;

inline I16 loadI16(const int16_t* p) { return loadu(p); }
inline void storeI16(int16_t* p, I16 v) { storeu(p, v); }
inline I16 splatI16(int16_t v) { return _mm512_set1_epi16(v); }
inline I16 subI16(I16 a, I16 b) { return _mm512_sub_epi16(a, b); }
inline I16 minI16(I16 a, I16 b) { return _mm512_min_epi16(a, b); }
inline I16 maxI16(I16 a, I16 b) { return _mm512_max_epi16(a, b); }
inline I16 equalI16(I16 a, I16 b) { return _mm512_movm_epi16(_mm512_cmpeq_epi16_mask(a, b)); }
inline I16 lessI16(I16 a, I16 b) { return _mm512_movm_epi16(_mm512_cmplt_epi16_mask(a, b)); }
inline I16 andI16(I16 a, I16 b) { return _mm512_and_si512(a, b); }
inline I16 andNotI16(I16 a, I16 b) { return _mm512_andnot_si512(a, b); }
inline I16 selectI16(I16 mask, I16 yes, I16 no) { return _mm512_ternarylogic_epi32(mask, yes, no, 0xca); }
inline void keepBytes(uint8_t* p, I16 mask) {
  __m256i* out = reinterpret_cast<__m256i*>(p);
  _mm256_storeu_si256(out, _mm256_and_si256(_mm256_loadu_si256(out), _mm512_cvtepi16_epi8(mask)));
}

inline I16 addI16(I16 a, I16 b) { return _mm512_add_epi16(a, b); }
inline I16 subSaturatedI16(I16 a, I16 b) { return _mm512_subs_epi16(a, b); }
inline I16 absoluteI16(I16 v) { return _mm512_abs_epi16(v); }
inline I16 averageFloorI16(I16 a, I16 b) {
  return _mm512_add_epi16(_mm512_and_si512(a, b), _mm512_srai_epi16(_mm512_xor_si512(a, b), 1));
}
inline I16 loadBytesAsI16(const uint8_t* p) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline bool anyI16(I16 mask) { return _mm512_test_epi16_mask(mask, mask) != 0; }
constexpr int32_t kEights = 8;
inline void storeUnlikeEights(uint8_t* out, const uint8_t* a, const uint8_t* b, uint8_t largest) {
  const __m512i x = loadu(a), y = loadu(b);
  const __m512i difference = _mm512_or_si512(_mm512_subs_epu8(x, y), _mm512_subs_epu8(y, x));
  const __m512i unlike = _mm512_min_epu8(difference, _mm512_set1_epi8(static_cast<char>(largest)));
  const __m512i sums = _mm512_sad_epu8(unlike, _mm512_setzero_si512());
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm512_cvtepi64_epi8(sums));
}
inline void storeBytesI16(uint8_t* p, I16 v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi16_epi8(v));
}
inline U8 lookUp64U8(const uint8_t* table, U8 index) {
  return _mm512_permutexvar_epi8(index, _mm512_loadu_si512(table));
}
inline U8 lookUp256U8(const uint8_t* table, U8 index) {
  const auto half = [&](const uint8_t* entries) {
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(entries), index, _mm512_loadu_si512(entries + 64));
  };
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), half(table), half(table + 128));
}
inline I16 minU16(I16 a, I16 b) { return _mm512_min_epu16(a, b); }
inline I16 maxU16(I16 a, I16 b) { return _mm512_max_epu16(a, b); }
inline I16 addSaturatedU16(I16 a, I16 b) { return _mm512_adds_epu16(a, b); }
inline I16 mulHighU16(I16 a, I16 b) { return _mm512_mulhi_epu16(a, b); }
inline I16 mulLowU16(I16 a, I16 b) { return _mm512_mullo_epi16(a, b); }

constexpr int32_t kLanesF32 = 16;
using F32 = __m512;
using MaskF32 = __mmask16;

inline F32 loadI16AsF32(const int16_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}
inline F32 loadF32(const float* p) { return _mm512_loadu_ps(p); }
inline void storeF32(float* p, F32 v) { _mm512_storeu_ps(p, v); }
inline F32 splatF32(float v) { return _mm512_set1_ps(v); }
inline F32 addF32(F32 a, F32 b) { return _mm512_add_ps(a, b); }
inline F32 subF32(F32 a, F32 b) { return _mm512_sub_ps(a, b); }
inline F32 mulF32(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
inline F32 floorF32(F32 a) { return _mm512_floor_ps(a); }
inline F32 divF32(F32 a, F32 b) { return _mm512_div_ps(a, b); }
inline MaskF32 lessF32(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
inline MaskF32 notEqualF32(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
inline MaskF32 bothF32(MaskF32 a, MaskF32 b) { return a & b; }
inline F32 selectF32(MaskF32 mask, F32 yes, F32 no) { return _mm512_mask_blend_ps(mask, no, yes); }
inline void storeTruncatedU16(uint16_t* p, F32 v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_cvttps_epi32(v)));
}

constexpr int32_t kLanesI32 = 16;
using I32 = __m512i;

inline I32 loadI32(const void* p) { return loadu(p); }
inline I32 splatI32(int32_t v) { return _mm512_set1_epi32(v); }
inline I32 laneI32() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
inline I32 addI32(I32 a, I32 b) { return _mm512_add_epi32(a, b); }
inline I32 subI32(I32 a, I32 b) { return _mm512_sub_epi32(a, b); }
inline I32 mulI32(I32 a, I32 b) { return _mm512_mullo_epi32(a, b); }
inline I32 minI32(I32 a, I32 b) { return _mm512_min_epi32(a, b); }
inline I32 maxI32(I32 a, I32 b) { return _mm512_max_epi32(a, b); }
inline I32 andI32(I32 a, I32 b) { return _mm512_and_si512(a, b); }
inline I32 orI32(I32 a, I32 b) { return _mm512_or_si512(a, b); }
inline I32 xorI32(I32 a, I32 b) { return _mm512_xor_si512(a, b); }
template <int kBits>
inline I32 shiftRightI32(I32 v) {
  return _mm512_srli_epi32(v, kBits);
}
template <int kBits>
inline I32 shiftLeftI32(I32 v) {
  return _mm512_slli_epi32(v, kBits);
}
inline bool anyAboveI32(I32 a, I32 b) { return _mm512_cmpgt_epi32_mask(a, b) != 0; }
inline I32 pairSumI32(I32 a, I32 b) { return _mm512_madd_epi16(a, b); }
inline I32 gatherI32(const uint8_t* base, I32 offset) { return _mm512_i32gather_epi32(offset, base, 1); }
inline I32 lookup4I32(const int32_t* table, I32 index) {
  const __m512i all = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return _mm512_permutexvar_epi32(index, all);
}
inline bool anyAboveUnsignedI32(I32 a, I32 b) { return _mm512_cmpgt_epu32_mask(a, b) != 0; }
constexpr int32_t kWindowBytes = 64;
inline I32 pickI32(const uint8_t* a, const uint8_t* b, I32 offset, I32 second) {
  const __m512i low = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
  // Bit 6 of a place selects the row.
  const __m512i first = _mm512_shuffle_epi8(_mm512_add_epi32(offset, _mm512_slli_epi32(second, 6)), low);
  const __m512i places = _mm512_add_epi8(first, _mm512_set1_epi32(0x03020100));
  return _mm512_permutex2var_epi8(loadu(a), places, loadu(b));
}
inline void loadPairsI32(const int32_t* p, I32& even, I32& odd) {
  const __m512i a = loadu(p), b = loadu(p + 16);
  const __m512i evenPlaces = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  even = _mm512_permutex2var_epi32(a, evenPlaces, b);
  odd = _mm512_permutex2var_epi32(a, _mm512_add_epi32(evenPlaces, _mm512_set1_epi32(1)), b);
}
inline void storeBytesI32(uint8_t* p, I32 v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
}
inline void storeHalvesI32(void* p, I32 v) { _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16(v)); }
inline void storeTriplesI32(uint8_t* p, I32 v) {
  const __m512i lowThree = _mm512_shuffle_epi8(
      v, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1)));
  const __m512i packed =
      _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15), lowThree);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(packed));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 32), _mm512_extracti32x4_epi32(packed, 2));
}

inline I32 loadBytesAsI32(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline I32 truncatedI32(F32 v) { return _mm512_cvttps_epi32(v); }
inline void storeTwos(void* p, I32 a, I32 b) {
  const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  storeu(p, _mm512_permutex2var_epi32(a, first, b));
  storeu(static_cast<uint8_t*>(p) + 64, _mm512_permutex2var_epi32(a, _mm512_add_epi32(first, _mm512_set1_epi32(8)), b));
}
inline void storeFours(void* p, F32 a, F32 b, F32 c, I32 d) {
  const __m512i x = _mm512_castps_si512(a), y = _mm512_castps_si512(b), z = _mm512_castps_si512(c);
  const __m512i xyLow = _mm512_unpacklo_epi32(x, y), xyHigh = _mm512_unpackhi_epi32(x, y);
  const __m512i zdLow = _mm512_unpacklo_epi32(z, d), zdHigh = _mm512_unpackhi_epi32(z, d);
  // Points 0, 1, 2 and 3 of each quarter.
  const __m512i p0 = _mm512_unpacklo_epi64(xyLow, zdLow), p1 = _mm512_unpackhi_epi64(xyLow, zdLow);
  const __m512i p2 = _mm512_unpacklo_epi64(xyHigh, zdHigh), p3 = _mm512_unpackhi_epi64(xyHigh, zdHigh);
  const __m512i near01 = _mm512_shuffle_i32x4(p0, p1, 0x44), far01 = _mm512_shuffle_i32x4(p0, p1, 0xee);
  const __m512i near23 = _mm512_shuffle_i32x4(p2, p3, 0x44), far23 = _mm512_shuffle_i32x4(p2, p3, 0xee);
  auto* out = static_cast<uint8_t*>(p);
  storeu(out, _mm512_shuffle_i32x4(near01, near23, 0x88));
  storeu(out + 64, _mm512_shuffle_i32x4(near01, near23, 0xdd));
  storeu(out + 128, _mm512_shuffle_i32x4(far01, far23, 0x88));
  storeu(out + 192, _mm512_shuffle_i32x4(far01, far23, 0xdd));
}
inline I32 loadReversedTriplesI32(const uint8_t* p) {
  const __m512i bytes = _mm512_maskz_loadu_epi32(0x0fff, p);
  const __m512i quarters =
      _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11), bytes);
  return _mm512_shuffle_epi8(
      quarters, _mm512_broadcast_i32x4(_mm_setr_epi8(2, 1, 0, -1, 5, 4, 3, -1, 8, 7, 6, -1, 11, 10, 9, -1)));
}
inline void storeTens(void* p, I32 a, I32 b, I32 c) {
  const __m512i near = _mm512_unpacklo_epi32(a, b), far = _mm512_unpackhi_epi32(a, b);
  const auto shuffled = [](__m512i v, __m128i places) {
    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(places));
  };
  // Four points of a quarter are 40 bytes: 16, 16 and 8.
  const __m512i parts[3] = {
      _mm512_or_si512(shuffled(near, _mm_setr_epi8(0, 1, 2, 3, 4, 5, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13)),
                      shuffled(c, _mm_setr_epi8(-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, -1, -1, -1, -1, -1, -1))),
      _mm512_or_si512(shuffled(far, _mm_setr_epi8(-1, -1, -1, -1, 0, 1, 2, 3, 4, 5, -1, -1, -1, -1, 8, 9)),
                      shuffled(c, _mm_setr_epi8(4, 5, 6, 7, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, -1, -1))),
      _mm512_or_si512(shuffled(far, _mm_setr_epi8(10, 11, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)),
                      shuffled(c, _mm_setr_epi8(-1, -1, -1, -1, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1)))};
  auto* out = static_cast<uint8_t*>(p);
  const auto store = [&](__m128i first, __m128i second, __m128i third) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), first);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16), second);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 32), third);
    out += 40;
  };
  store(_mm512_castsi512_si128(parts[0]), _mm512_castsi512_si128(parts[1]), _mm512_castsi512_si128(parts[2]));
  store(_mm512_extracti32x4_epi32(parts[0], 1), _mm512_extracti32x4_epi32(parts[1], 1),
        _mm512_extracti32x4_epi32(parts[2], 1));
  store(_mm512_extracti32x4_epi32(parts[0], 2), _mm512_extracti32x4_epi32(parts[1], 2),
        _mm512_extracti32x4_epi32(parts[2], 2));
  store(_mm512_extracti32x4_epi32(parts[0], 3), _mm512_extracti32x4_epi32(parts[1], 3),
        _mm512_extracti32x4_epi32(parts[2], 3));
}
inline void storeI32(int32_t* p, I32 v) { storeu(p, v); }
inline int32_t lowestI32(I32 v) { return _mm512_reduce_min_epi32(v); }

}  // namespace
