// SPDX-License-Identifier: Apache-2.0
// The vector functions with 32 lanes of AVX2; vec_scalar.h documents each name.

namespace {

constexpr int32_t kLanes = 32;
using U8 = __m256i;

inline __m256i loadu(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void storeu(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

inline U8 zeroU8() { return _mm256_setzero_si256(); }
inline U8 add(U8 a, U8 b) { return _mm256_add_epi8(a, b); }
inline U8 sub(U8 a, U8 b) { return _mm256_sub_epi8(a, b); }

inline U8 maskGreaterEqual(const uint8_t* a, const uint8_t* b) {
  const __m256i u = loadu(a);
  return _mm256_cmpeq_epi8(_mm256_max_epu8(u, loadu(b)), u);
}

inline U8 maskGreaterEqual(const uint16_t* a, const uint16_t* b) {
  const __m256i u0 = loadu(a), u1 = loadu(a + 16);
  const __m256i m0 = _mm256_cmpeq_epi16(_mm256_max_epu16(u0, loadu(b)), u0);
  const __m256i m1 = _mm256_cmpeq_epi16(_mm256_max_epu16(u1, loadu(b + 16)), u1);
  // packs works inside 128-bit halves; the permute puts the four quarters back in order.
  return _mm256_permute4x64_epi64(_mm256_packs_epi16(m0, m1), 0xd8);
}

inline U8 maskGreaterEqual(const int16_t* a, const int16_t* b) {
  const __m256i less0 = _mm256_cmpgt_epi16(loadu(b), loadu(a)),
                less1 = _mm256_cmpgt_epi16(loadu(b + 16), loadu(a + 16));
  const __m256i less = _mm256_permute4x64_epi64(_mm256_packs_epi16(less0, less1), 0xd8);
  return _mm256_xor_si256(less, _mm256_set1_epi8(-1));
}

inline void storeInterleaved(uint32_t* out, U8 b0, U8 b1, U8 b2, U8 b3) {
  const __m256i low01 = _mm256_unpacklo_epi8(b0, b1), high01 = _mm256_unpackhi_epi8(b0, b1);
  const __m256i low23 = _mm256_unpacklo_epi8(b2, b3), high23 = _mm256_unpackhi_epi8(b2, b3);
  const __m256i w0 = _mm256_unpacklo_epi16(low01, low23), w1 = _mm256_unpackhi_epi16(low01, low23);
  const __m256i w2 = _mm256_unpacklo_epi16(high01, high23), w3 = _mm256_unpackhi_epi16(high01, high23);
  // Lower halves have pixels 0-15, upper halves 16-31.
  storeu(out, _mm256_permute2x128_si256(w0, w1, 0x20));
  storeu(out + 8, _mm256_permute2x128_si256(w2, w3, 0x20));
  storeu(out + 16, _mm256_permute2x128_si256(w0, w1, 0x31));
  storeu(out + 24, _mm256_permute2x128_si256(w2, w3, 0x31));
}

inline U8 loadU8(const uint8_t* p) { return loadu(p); }
inline void storeU8(uint8_t* p, U8 v) { storeu(p, v); }
inline U8 splatU8(uint8_t v) { return _mm256_set1_epi8(static_cast<char>(v)); }
inline U8 subSaturatedU8(U8 a, U8 b) { return _mm256_subs_epu8(a, b); }
inline U8 maskGreaterEqualU8(U8 a, U8 b) { return _mm256_cmpeq_epi8(_mm256_max_epu8(a, b), a); }

// ---- Refinement and depth.

constexpr int32_t kLanesI16 = 16;
using I16 = __m256i;

inline I16 loadI16(const int16_t* p) { return loadu(p); }
inline void storeI16(int16_t* p, I16 v) { storeu(p, v); }
inline I16 splatI16(int16_t v) { return _mm256_set1_epi16(v); }
inline I16 subI16(I16 a, I16 b) { return _mm256_sub_epi16(a, b); }
inline I16 minI16(I16 a, I16 b) { return _mm256_min_epi16(a, b); }
inline I16 maxI16(I16 a, I16 b) { return _mm256_max_epi16(a, b); }
inline I16 equalI16(I16 a, I16 b) { return _mm256_cmpeq_epi16(a, b); }
inline I16 lessI16(I16 a, I16 b) { return _mm256_cmpgt_epi16(b, a); }
inline I16 andI16(I16 a, I16 b) { return _mm256_and_si256(a, b); }
inline I16 andNotI16(I16 a, I16 b) { return _mm256_andnot_si256(a, b); }
inline I16 selectI16(I16 mask, I16 yes, I16 no) { return _mm256_blendv_epi8(no, yes, mask); }
inline void keepBytes(uint8_t* p, I16 mask) {
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(mask), _mm256_extracti128_si256(mask, 1));
  __m128i* out = reinterpret_cast<__m128i*>(p);
  _mm_storeu_si128(out, _mm_and_si128(_mm_loadu_si128(out), bytes));
}

inline I16 addI16(I16 a, I16 b) { return _mm256_add_epi16(a, b); }
inline I16 subSaturatedI16(I16 a, I16 b) { return _mm256_subs_epi16(a, b); }
inline I16 absoluteI16(I16 v) { return _mm256_abs_epi16(v); }
inline I16 averageFloorI16(I16 a, I16 b) {
  return _mm256_add_epi16(_mm256_and_si256(a, b), _mm256_srai_epi16(_mm256_xor_si256(a, b), 1));
}
inline I16 loadBytesAsI16(const uint8_t* p) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline bool anyI16(I16 mask) { return _mm256_movemask_epi8(mask) != 0; }
constexpr int32_t kEights = 4;
inline void storeUnlikeEights(uint8_t* out, const uint8_t* a, const uint8_t* b, uint8_t largest) {
  const __m256i x = loadu(a), y = loadu(b);
  const __m256i difference = _mm256_or_si256(_mm256_subs_epu8(x, y), _mm256_subs_epu8(y, x));
  const __m256i unlike = _mm256_min_epu8(difference, _mm256_set1_epi8(static_cast<char>(largest)));
  const __m256i sums = _mm256_sad_epu8(unlike, _mm256_setzero_si256());
  const __m128i pairs = _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const int32_t bytes = _mm_cvtsi128_si32(
      _mm_shuffle_epi8(pairs, _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)));
  __builtin_memcpy(out, &bytes, sizeof bytes);
}
inline void storeBytesI16(uint8_t* p, I16 v) {
  const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
template <int32_t kEntries>
inline U8 lookUpU8(const uint8_t* table, U8 index) {
  // Sixteen entries at a time: with 0x70 added, saturating, the indices of the other entries have their highest bit set.
  const __m256i others = _mm256_set1_epi8(0x70), sixteen = _mm256_set1_epi8(16);
  __m256i found = _mm256_setzero_si256();
  for (int32_t entry = 0; entry < kEntries; entry += 16) {
    const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + entry));
    const __m256i own = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(part), _mm256_adds_epu8(index, others));
    found = _mm256_or_si256(found, own);
    index = _mm256_sub_epi8(index, sixteen);
  }
  return found;
}
inline U8 lookUp64U8(const uint8_t* table, U8 index) { return lookUpU8<64>(table, index); }
inline U8 lookUp256U8(const uint8_t* table, U8 index) { return lookUpU8<256>(table, index); }
inline I16 minU16(I16 a, I16 b) { return _mm256_min_epu16(a, b); }
inline I16 maxU16(I16 a, I16 b) { return _mm256_max_epu16(a, b); }
inline I16 addSaturatedU16(I16 a, I16 b) { return _mm256_adds_epu16(a, b); }
inline I16 mulHighU16(I16 a, I16 b) { return _mm256_mulhi_epu16(a, b); }
inline I16 mulLowU16(I16 a, I16 b) { return _mm256_mullo_epi16(a, b); }

constexpr int32_t kLanesF32 = 8;
using F32 = __m256;
using MaskF32 = __m256;

inline F32 loadI16AsF32(const int16_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
inline F32 loadF32(const float* p) { return _mm256_loadu_ps(p); }
inline void storeF32(float* p, F32 v) { _mm256_storeu_ps(p, v); }
inline F32 splatF32(float v) { return _mm256_set1_ps(v); }
inline F32 addF32(F32 a, F32 b) { return _mm256_add_ps(a, b); }
inline F32 subF32(F32 a, F32 b) { return _mm256_sub_ps(a, b); }
inline F32 mulF32(F32 a, F32 b) { return _mm256_mul_ps(a, b); }
inline F32 floorF32(F32 a) { return _mm256_floor_ps(a); }
inline F32 divF32(F32 a, F32 b) { return _mm256_div_ps(a, b); }
inline MaskF32 lessF32(F32 a, F32 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
inline MaskF32 notEqualF32(F32 a, F32 b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
inline MaskF32 bothF32(MaskF32 a, MaskF32 b) { return _mm256_and_ps(a, b); }
inline F32 selectF32(MaskF32 mask, F32 yes, F32 no) { return _mm256_blendv_ps(no, yes, mask); }
inline void storeTruncatedU16(uint16_t* p, F32 v) {
  const __m256i whole = _mm256_cvttps_epi32(v);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packus_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1)));
}

constexpr int32_t kLanesI32 = 8;
using I32 = __m256i;

inline I32 loadI32(const void* p) { return loadu(p); }
inline I32 splatI32(int32_t v) { return _mm256_set1_epi32(v); }
inline I32 laneI32() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
inline I32 addI32(I32 a, I32 b) { return _mm256_add_epi32(a, b); }
inline I32 subI32(I32 a, I32 b) { return _mm256_sub_epi32(a, b); }
inline I32 mulI32(I32 a, I32 b) { return _mm256_mullo_epi32(a, b); }
inline I32 minI32(I32 a, I32 b) { return _mm256_min_epi32(a, b); }
inline I32 maxI32(I32 a, I32 b) { return _mm256_max_epi32(a, b); }
inline I32 andI32(I32 a, I32 b) { return _mm256_and_si256(a, b); }
inline I32 orI32(I32 a, I32 b) { return _mm256_or_si256(a, b); }
inline I32 xorI32(I32 a, I32 b) { return _mm256_xor_si256(a, b); }
template <int kBits>
inline I32 shiftRightI32(I32 v) {
  return _mm256_srli_epi32(v, kBits);
}
template <int kBits>
inline I32 shiftLeftI32(I32 v) {
  return _mm256_slli_epi32(v, kBits);
}
inline bool anyAboveI32(I32 a, I32 b) { return _mm256_movemask_epi8(_mm256_cmpgt_epi32(a, b)) != 0; }
inline I32 pairSumI32(I32 a, I32 b) { return _mm256_madd_epi16(a, b); }
inline I32 gatherI32(const uint8_t* base, I32 offset) {
  return _mm256_i32gather_epi32(reinterpret_cast<const int*>(base), offset, 1);
}
inline I32 lookup4I32(const int32_t* table, I32 index) {
  const __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return _mm256_permutevar8x32_epi32(both, index);
}
inline bool anyAboveUnsignedI32(I32 a, I32 b) {
  return _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(a, b), b)) != -1;
}
constexpr int32_t kWindowBytes = 16;
inline I32 pickI32(const uint8_t* a, const uint8_t* b, I32 offset, I32 second) {
  const __m256i low = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8,
                                       8, 8, 12, 12, 12, 12);
  const __m256i places = _mm256_add_epi8(_mm256_shuffle_epi8(offset, low), _mm256_set1_epi32(0x03020100));
  const __m256i rowA = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)));
  const __m256i rowB = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
  return _mm256_blendv_epi8(_mm256_shuffle_epi8(rowA, places), _mm256_shuffle_epi8(rowB, places),
                            _mm256_sub_epi32(_mm256_setzero_si256(), second));
}
inline void loadPairsI32(const int32_t* p, I32& even, I32& odd) {
  const __m256 a = _mm256_castsi256_ps(loadu(p)), b = _mm256_castsi256_ps(loadu(p + 8));
  // shuffle works inside 128-bit halves; the permute puts the four quarters back in order.
  even = _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)), 0xd8);
  odd = _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)), 0xd8);
}
inline void storeBytesI32(uint8_t* p, I32 v) {
  const __m256i first = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1,
                                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i packed = _mm256_shuffle_epi8(v, first);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p),
                   _mm_unpacklo_epi32(_mm256_castsi256_si128(packed), _mm256_extracti128_si256(packed, 1)));
}
inline void storeHalvesI32(void* p, I32 v) {
  const __m256i low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0xd8);
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
}
inline void storeTriplesI32(uint8_t* p, I32 v) {
  const __m256i lowThree = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, 0, 1, 2, 4, 5, 6, 8,
                                            9, 10, 12, 13, 14, -1, -1, -1, -1);
  const __m256i packed =
      _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(v, lowThree), _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p + 16), _mm256_extracti128_si256(packed, 1));
}

inline I32 loadBytesAsI32(const uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
inline I32 truncatedI32(F32 v) { return _mm256_cvttps_epi32(v); }
inline void storeTwos(void* p, I32 a, I32 b) {
  const __m256i low = _mm256_unpacklo_epi32(a, b), high = _mm256_unpackhi_epi32(a, b);
  storeu(p, _mm256_permute2x128_si256(low, high, 0x20));
  storeu(static_cast<uint8_t*>(p) + 32, _mm256_permute2x128_si256(low, high, 0x31));
}
inline void storeFours(void* p, F32 a, F32 b, F32 c, I32 d) {
  const __m256i x = _mm256_castps_si256(a), y = _mm256_castps_si256(b), z = _mm256_castps_si256(c);
  const __m256i xyLow = _mm256_unpacklo_epi32(x, y), xyHigh = _mm256_unpackhi_epi32(x, y);
  const __m256i zdLow = _mm256_unpacklo_epi32(z, d), zdHigh = _mm256_unpackhi_epi32(z, d);
  // Points 0 and 4, 1 and 5, 2 and 6, 3 and 7.
  const __m256i p0 = _mm256_unpacklo_epi64(xyLow, zdLow), p1 = _mm256_unpackhi_epi64(xyLow, zdLow);
  const __m256i p2 = _mm256_unpacklo_epi64(xyHigh, zdHigh), p3 = _mm256_unpackhi_epi64(xyHigh, zdHigh);
  auto* out = static_cast<uint8_t*>(p);
  storeu(out, _mm256_permute2x128_si256(p0, p1, 0x20));
  storeu(out + 32, _mm256_permute2x128_si256(p2, p3, 0x20));
  storeu(out + 64, _mm256_permute2x128_si256(p0, p1, 0x31));
  storeu(out + 96, _mm256_permute2x128_si256(p2, p3, 0x31));
}
inline I32 loadReversedTriplesI32(const uint8_t* p) {
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8));
  // The upper half's first pixel starts at byte 12, which is its fourth.
  const __m256i places = _mm256_setr_epi8(2, 1, 0, -1, 5, 4, 3, -1, 8, 7, 6, -1, 11, 10, 9, -1, 6, 5, 4, -1, 9, 8, 7,
                                          -1, 12, 11, 10, -1, 15, 14, 13, -1);
  return _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(first), last, 1), places);
}
inline void storeTens(void* p, I32 a, I32 b, I32 c) {
  const __m256i near = _mm256_unpacklo_epi32(a, b), far = _mm256_unpackhi_epi32(a, b);
  const auto shuffled = [](__m256i v, __m128i places) {
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(places));
  };
  // Four points of a half are 40 bytes: 16, 16 and 8.
  const __m256i parts[3] = {
      _mm256_or_si256(shuffled(near, _mm_setr_epi8(0, 1, 2, 3, 4, 5, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13)),
                      shuffled(c, _mm_setr_epi8(-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, -1, -1, -1, -1, -1, -1))),
      _mm256_or_si256(shuffled(far, _mm_setr_epi8(-1, -1, -1, -1, 0, 1, 2, 3, 4, 5, -1, -1, -1, -1, 8, 9)),
                      shuffled(c, _mm_setr_epi8(4, 5, 6, 7, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, -1, -1))),
      _mm256_or_si256(shuffled(far, _mm_setr_epi8(10, 11, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)),
                      shuffled(c, _mm_setr_epi8(-1, -1, -1, -1, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1)))};
  auto* out = static_cast<uint8_t*>(p);
  const auto store = [&](__m128i first, __m128i second, __m128i third) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), first);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16), second);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 32), third);
    out += 40;
  };
  store(_mm256_castsi256_si128(parts[0]), _mm256_castsi256_si128(parts[1]), _mm256_castsi256_si128(parts[2]));
  store(_mm256_extracti128_si256(parts[0], 1), _mm256_extracti128_si256(parts[1], 1),
        _mm256_extracti128_si256(parts[2], 1));
}
inline void storeI32(int32_t* p, I32 v) { storeu(p, v); }
inline int32_t lowestI32(I32 v) {
  __m128i least = _mm_min_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  least = _mm_min_epi32(least, _mm_shuffle_epi32(least, 0x4e));
  return _mm_cvtsi128_si32(_mm_min_epi32(least, _mm_shuffle_epi32(least, 0xb1)));
}

}  // namespace
