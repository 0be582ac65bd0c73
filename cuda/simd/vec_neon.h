// SPDX-License-Identifier: Apache-2.0
// The vector functions with 16 lanes of NEON; vec_scalar.h documents each name.

namespace {

constexpr int32_t kLanes = 16;
using U8 = uint8x16_t;

inline U8 zeroU8() { return vdupq_n_u8(0); }
inline U8 add(U8 a, U8 b) { return vaddq_u8(a, b); }
inline U8 sub(U8 a, U8 b) { return vsubq_u8(a, b); }

inline U8 maskGreaterEqual(const uint8_t* a, const uint8_t* b) { return vcgeq_u8(vld1q_u8(a), vld1q_u8(b)); }

inline U8 maskGreaterEqual(const uint16_t* a, const uint16_t* b) {
  const uint16x8_t m0 = vcgeq_u16(vld1q_u16(a), vld1q_u16(b));
  const uint16x8_t m1 = vcgeq_u16(vld1q_u16(a + 8), vld1q_u16(b + 8));
  return vcombine_u8(vmovn_u16(m0), vmovn_u16(m1));
}

inline U8 maskGreaterEqual(const int16_t* a, const int16_t* b) {
  const uint16x8_t m0 = vcgeq_s16(vld1q_s16(a), vld1q_s16(b)), m1 = vcgeq_s16(vld1q_s16(a + 8), vld1q_s16(b + 8));
  return vcombine_u8(vmovn_u16(m0), vmovn_u16(m1));
}

inline void storeInterleaved(uint32_t* out, U8 b0, U8 b1, U8 b2, U8 b3) {
  const uint8x16x4_t bytes = {{b0, b1, b2, b3}};
  vst4q_u8(reinterpret_cast<uint8_t*>(out), bytes);
}

inline U8 loadU8(const uint8_t* p) { return vld1q_u8(p); }
inline void storeU8(uint8_t* p, U8 v) { vst1q_u8(p, v); }
inline U8 splatU8(uint8_t v) { return vdupq_n_u8(v); }
inline U8 subSaturatedU8(U8 a, U8 b) { return vqsubq_u8(a, b); }
inline U8 maskGreaterEqualU8(U8 a, U8 b) { return vcgeq_u8(a, b); }

// ---- Refinement and depth.

constexpr int32_t kLanesI16 = 8;
using I16 = int16x8_t;

inline I16 loadI16(const int16_t* p) { return vld1q_s16(p); }
inline void storeI16(int16_t* p, I16 v) { vst1q_s16(p, v); }
inline I16 splatI16(int16_t v) { return vdupq_n_s16(v); }
inline I16 subI16(I16 a, I16 b) { return vsubq_s16(a, b); }
inline I16 minI16(I16 a, I16 b) { return vminq_s16(a, b); }
inline I16 maxI16(I16 a, I16 b) { return vmaxq_s16(a, b); }
inline I16 equalI16(I16 a, I16 b) { return vreinterpretq_s16_u16(vceqq_s16(a, b)); }
inline I16 lessI16(I16 a, I16 b) { return vreinterpretq_s16_u16(vcltq_s16(a, b)); }
inline I16 andI16(I16 a, I16 b) { return vandq_s16(a, b); }
inline I16 andNotI16(I16 a, I16 b) { return vbicq_s16(b, a); }
inline I16 selectI16(I16 mask, I16 yes, I16 no) { return vbslq_s16(vreinterpretq_u16_s16(mask), yes, no); }
inline void keepBytes(uint8_t* p, I16 mask) { vst1_u8(p, vand_u8(vld1_u8(p), vmovn_u16(vreinterpretq_u16_s16(mask)))); }

inline I16 addI16(I16 a, I16 b) { return vaddq_s16(a, b); }
inline I16 subSaturatedI16(I16 a, I16 b) { return vqsubq_s16(a, b); }
inline I16 absoluteI16(I16 v) { return vabsq_s16(v); }
inline I16 averageFloorI16(I16 a, I16 b) { return vhaddq_s16(a, b); }
inline I16 loadBytesAsI16(const uint8_t* p) { return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p))); }
inline bool anyI16(I16 mask) { return vmaxvq_u16(vreinterpretq_u16_s16(mask)) != 0; }
constexpr int32_t kEights = 2;
inline void storeUnlikeEights(uint8_t* out, const uint8_t* a, const uint8_t* b, uint8_t largest) {
  const uint8x16_t unlike = vminq_u8(vabdq_u8(vld1q_u8(a), vld1q_u8(b)), vdupq_n_u8(largest));
  const uint64x2_t sums = vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(unlike)));
  out[0] = static_cast<uint8_t>(vgetq_lane_u64(sums, 0));
  out[1] = static_cast<uint8_t>(vgetq_lane_u64(sums, 1));
}
inline void storeBytesI16(uint8_t* p, I16 v) { vst1_u8(p, vmovn_u16(vreinterpretq_u16_s16(v))); }
// Not vld1q_u8_x4: older compilers lack it.
inline uint8x16x4_t load64U8(const uint8_t* p) {
  return {{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}};
}
inline U8 lookUp64U8(const uint8_t* table, U8 index) { return vqtbl4q_u8(load64U8(table), index); }
inline U8 lookUp256U8(const uint8_t* table, U8 index) {
  // Indices outside a quarter keep the previous result.
  const uint8x16_t quarter = vdupq_n_u8(64);
  U8 found = vqtbl4q_u8(load64U8(table), index);
  for (int32_t part = 1; part < 4; ++part) {
    index = vsubq_u8(index, quarter);
    found = vqtbx4q_u8(found, load64U8(table + 64 * part), index);
  }
  return found;
}
inline I16 minU16(I16 a, I16 b) {
  return vreinterpretq_s16_u16(vminq_u16(vreinterpretq_u16_s16(a), vreinterpretq_u16_s16(b)));
}
inline I16 maxU16(I16 a, I16 b) {
  return vreinterpretq_s16_u16(vmaxq_u16(vreinterpretq_u16_s16(a), vreinterpretq_u16_s16(b)));
}
inline I16 addSaturatedU16(I16 a, I16 b) {
  return vreinterpretq_s16_u16(vqaddq_u16(vreinterpretq_u16_s16(a), vreinterpretq_u16_s16(b)));
}
inline I16 mulHighU16(I16 a, I16 b) {
  const uint16x8_t u = vreinterpretq_u16_s16(a), v = vreinterpretq_u16_s16(b);
  const uint32x4_t low = vmull_u16(vget_low_u16(u), vget_low_u16(v)), high = vmull_high_u16(u, v);
  return vreinterpretq_s16_u16(vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high)));
}
inline I16 mulLowU16(I16 a, I16 b) { return vmulq_s16(a, b); }

constexpr int32_t kLanesF32 = 4;
using F32 = float32x4_t;
using MaskF32 = uint32x4_t;

inline F32 loadI16AsF32(const int16_t* p) { return vcvtq_f32_s32(vmovl_s16(vld1_s16(p))); }
inline F32 loadF32(const float* p) { return vld1q_f32(p); }
inline void storeF32(float* p, F32 v) { vst1q_f32(p, v); }
inline F32 splatF32(float v) { return vdupq_n_f32(v); }
inline F32 addF32(F32 a, F32 b) { return vaddq_f32(a, b); }
inline F32 subF32(F32 a, F32 b) { return vsubq_f32(a, b); }
inline F32 mulF32(F32 a, F32 b) { return vmulq_f32(a, b); }
inline F32 floorF32(F32 a) { return vrndmq_f32(a); }
inline F32 divF32(F32 a, F32 b) { return vdivq_f32(a, b); }
inline MaskF32 lessF32(F32 a, F32 b) { return vcltq_f32(a, b); }
inline MaskF32 notEqualF32(F32 a, F32 b) { return vmvnq_u32(vceqq_f32(a, b)); }
inline MaskF32 bothF32(MaskF32 a, MaskF32 b) { return vandq_u32(a, b); }
inline F32 selectF32(MaskF32 mask, F32 yes, F32 no) { return vbslq_f32(mask, yes, no); }
inline void storeTruncatedU16(uint16_t* p, F32 v) { vst1_u16(p, vmovn_u32(vcvtq_u32_f32(v))); }

constexpr int32_t kLanesI32 = 4;
using I32 = int32x4_t;

inline I32 loadI32(const void* p) { return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(p))); }
inline I32 splatI32(int32_t v) { return vdupq_n_s32(v); }
inline I32 laneI32() {
  const int32_t lanes[4] = {0, 1, 2, 3};
  return vld1q_s32(lanes);
}
inline I32 addI32(I32 a, I32 b) { return vaddq_s32(a, b); }
inline I32 subI32(I32 a, I32 b) { return vsubq_s32(a, b); }
inline I32 mulI32(I32 a, I32 b) { return vmulq_s32(a, b); }
inline I32 minI32(I32 a, I32 b) { return vminq_s32(a, b); }
inline I32 maxI32(I32 a, I32 b) { return vmaxq_s32(a, b); }
inline I32 andI32(I32 a, I32 b) { return vandq_s32(a, b); }
inline I32 orI32(I32 a, I32 b) { return vorrq_s32(a, b); }
inline I32 xorI32(I32 a, I32 b) { return veorq_s32(a, b); }
template <int kBits>
inline I32 shiftRightI32(I32 v) {
  return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(v), kBits));
}
template <int kBits>
inline I32 shiftLeftI32(I32 v) {
  return vshlq_n_s32(v, kBits);
}
inline bool anyAboveI32(I32 a, I32 b) { return vmaxvq_u32(vcgtq_s32(a, b)) != 0; }
inline I32 pairSumI32(I32 a, I32 b) {
  const int16x8_t x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
  return vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
}
/// NEON has no gather: four loads, one per lane.
inline I32 gatherI32(const uint8_t* base, I32 offset) {
  const auto at = [&](int32_t place) {
    int32_t word;
    std::memcpy(&word, base + place, sizeof word);
    return word;
  };
  I32 v = vdupq_n_s32(at(vgetq_lane_s32(offset, 0)));
  v = vsetq_lane_s32(at(vgetq_lane_s32(offset, 1)), v, 1);
  v = vsetq_lane_s32(at(vgetq_lane_s32(offset, 2)), v, 2);
  return vsetq_lane_s32(at(vgetq_lane_s32(offset, 3)), v, 3);
}
inline I32 lookup4I32(const int32_t* table, I32 index) {
  // Byte k of word i is byte 4 i + k of the table.
  const uint32x4_t first = vmulq_n_u32(vreinterpretq_u32_s32(index), 0x04040404u);
  const uint8x16_t places = vreinterpretq_u8_u32(vaddq_u32(first, vdupq_n_u32(0x03020100u)));
  return vreinterpretq_s32_u8(vqtbl1q_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(table)), places));
}
inline bool anyAboveUnsignedI32(I32 a, I32 b) {
  return vmaxvq_u32(vcgtq_u32(vreinterpretq_u32_s32(a), vreinterpretq_u32_s32(b))) != 0;
}
constexpr int32_t kWindowBytes = 16;
inline I32 pickI32(const uint8_t* a, const uint8_t* b, I32 offset, I32 second) {
  // Bit 4 of a place selects the row.
  const uint32x4_t first = vreinterpretq_u32_s32(vaddq_s32(offset, vshlq_n_s32(second, 4)));
  const uint32x4_t places = vaddq_u32(vmulq_n_u32(first, 0x01010101u), vdupq_n_u32(0x03020100u));
  const uint8x16x2_t rows = {{vld1q_u8(a), vld1q_u8(b)}};
  return vreinterpretq_s32_u8(vqtbl2q_u8(rows, vreinterpretq_u8_u32(places)));
}
inline void loadPairsI32(const int32_t* p, I32& even, I32& odd) {
  const int32x4x2_t pairs = vld2q_s32(p);
  even = pairs.val[0];
  odd = pairs.val[1];
}
inline void storeBytesI32(uint8_t* p, I32 v) {
  const uint16x4_t halves = vmovn_u32(vreinterpretq_u32_s32(v));
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(halves, halves));
  const uint32_t word = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
  std::memcpy(p, &word, sizeof word);
}
inline void storeHalvesI32(void* p, I32 v) {
  vst1_u8(static_cast<uint8_t*>(p), vreinterpret_u8_u16(vmovn_u32(vreinterpretq_u32_s32(v))));
}
inline void storeTriplesI32(uint8_t* p, I32 v) {
  const uint8_t places[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 16, 16, 16};
  const uint8x16_t packed = vqtbl1q_u8(vreinterpretq_u8_s32(v), vld1q_u8(places));
  vst1_u8(p, vget_low_u8(packed));
  const uint32_t last = vgetq_lane_u32(vreinterpretq_u32_u8(packed), 2);
  std::memcpy(p + 8, &last, sizeof last);
}

inline I32 loadBytesAsI32(const uint8_t* p) {
  uint32_t word;
  std::memcpy(&word, p, sizeof word);
  const uint16x8_t halves = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(word)));
  return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(halves)));
}
inline I32 truncatedI32(F32 v) { return vcvtq_s32_f32(v); }
inline void storeTwos(void* p, I32 a, I32 b) {
  auto* out = static_cast<uint8_t*>(p);
  vst1q_u8(out, vreinterpretq_u8_s32(vzip1q_s32(a, b)));
  vst1q_u8(out + 16, vreinterpretq_u8_s32(vzip2q_s32(a, b)));
}
inline void storeFours(void* p, F32 a, F32 b, F32 c, I32 d) {
  const int32x4_t x = vreinterpretq_s32_f32(a), y = vreinterpretq_s32_f32(b), z = vreinterpretq_s32_f32(c);
  const int64x2_t xyLow = vreinterpretq_s64_s32(vzip1q_s32(x, y)), xyHigh = vreinterpretq_s64_s32(vzip2q_s32(x, y));
  const int64x2_t zdLow = vreinterpretq_s64_s32(vzip1q_s32(z, d)), zdHigh = vreinterpretq_s64_s32(vzip2q_s32(z, d));
  auto* out = static_cast<uint8_t*>(p);
  vst1q_u8(out, vreinterpretq_u8_s64(vzip1q_s64(xyLow, zdLow)));
  vst1q_u8(out + 16, vreinterpretq_u8_s64(vzip2q_s64(xyLow, zdLow)));
  vst1q_u8(out + 32, vreinterpretq_u8_s64(vzip1q_s64(xyHigh, zdHigh)));
  vst1q_u8(out + 48, vreinterpretq_u8_s64(vzip2q_s64(xyHigh, zdHigh)));
}
inline I32 loadReversedTriplesI32(const uint8_t* p) {
  const uint8_t places[16] = {2, 1, 0, 255, 5, 4, 3, 255, 8, 7, 6, 255, 11, 10, 9, 255};
  uint32_t last;
  std::memcpy(&last, p + 8, sizeof last);
  const uint8x16_t bytes = vcombine_u8(vld1_u8(p), vreinterpret_u8_u32(vdup_n_u32(last)));
  return vreinterpretq_s32_u8(vqtbl1q_u8(bytes, vld1q_u8(places)));
}
inline void storeTens(void* p, I32 a, I32 b, I32 c) {
  const uint8x16x2_t near = {{vreinterpretq_u8_s32(vzip1q_s32(a, b)), vreinterpretq_u8_s32(c)}};
  const uint8x16x2_t far = {{vreinterpretq_u8_s32(vzip2q_s32(a, b)), vreinterpretq_u8_s32(c)}};
  // Places from 16 on are those of c.
  const uint8_t first[16] = {0, 1, 2, 3, 4, 5, 16, 17, 18, 19, 8, 9, 10, 11, 12, 13};
  const uint8_t second[16] = {20, 21, 22, 23, 0, 1, 2, 3, 4, 5, 24, 25, 26, 27, 8, 9};
  const uint8_t third[8] = {10, 11, 12, 13, 28, 29, 30, 31};
  auto* out = static_cast<uint8_t*>(p);
  vst1q_u8(out, vqtbl2q_u8(near, vld1q_u8(first)));
  vst1q_u8(out + 16, vqtbl2q_u8(far, vld1q_u8(second)));
  vst1_u8(out + 32, vqtbl2_u8(far, vld1_u8(third)));
}
inline void storeI32(int32_t* p, I32 v) { vst1q_s32(p, v); }
inline int32_t lowestI32(I32 v) { return vminvq_s32(v); }

}  // namespace
