// SPDX-License-Identifier: Apache-2.0
// Groups of 16 bytes with NEON: one per register. groups_scalar.h documents each name.

namespace {

constexpr int32_t kGroups = 1;
constexpr bool kHasByteCells = true;
using Bytes = uint8x16_t;
using Halves = uint16x8_t;

inline Bytes loadBytes(const void* p) { return vld1q_u8(static_cast<const uint8_t*>(p)); }
inline Bytes loadBytesOnce(const void* p) { return loadBytes(p); }
inline void storeBytes(void* p, Bytes v) { vst1q_u8(static_cast<uint8_t*>(p), v); }
inline void storePast(void* p, Bytes v) { storeBytes(p, v); }
inline void fetchAhead(const void* p) { __builtin_prefetch(p); }
inline Bytes splatBytes(uint8_t v) { return vdupq_n_u8(v); }
inline Bytes addBytes(Bytes a, Bytes b) { return vaddq_u8(a, b); }
inline Bytes subBytes(Bytes a, Bytes b) { return vsubq_u8(a, b); }
inline Bytes addSaturatedBytes(Bytes a, Bytes b) { return vqaddq_u8(a, b); }
inline Bytes minBytes(Bytes a, Bytes b) { return vminq_u8(a, b); }
inline Bytes maxBytes(Bytes a, Bytes b) { return vmaxq_u8(a, b); }
inline Bytes orBytes(Bytes a, Bytes b) { return vorrq_u8(a, b); }
inline Bytes xorBytes(Bytes a, Bytes b) { return veorq_u8(a, b); }
inline Bytes popcountBytes(Bytes v) { return vcntq_u8(v); }
inline Bytes chooseBytes(Bytes mask, Bytes yes, Bytes no) { return vbslq_u8(mask, yes, no); }
inline Bytes shiftUpBytes(Bytes v, Bytes filler) { return vextq_u8(filler, v, 15); }
inline Bytes shiftDownBytes(Bytes v, Bytes filler) { return vextq_u8(v, filler, 1); }
inline Bytes lowestInGroupBytes(Bytes v) { return vdupq_n_u8(vminvq_u8(v)); }

inline void spreadWords(const uint32_t* words, Bytes* planes) {
  for (int32_t i = 0; i < 4; ++i) planes[i] = vdupq_n_u8(static_cast<uint8_t>(*words >> (8 * i)));
}
inline Bytes spreadBytes(uint32_t packed) { return vdupq_n_u8(static_cast<uint8_t>(packed)); }

inline void interleaveWords(const uint32_t* const* rows, ptrdiff_t at, uint32_t* to) {
  vst1q_u32(to, vld1q_u32(rows[0] + at));
}

inline void copyGroup(void* to, const void* from) { storeBytes(to, loadBytes(from)); }

inline Halves loadHalves(const void* p) { return vld1q_u16(static_cast<const uint16_t*>(p)); }
inline void storeHalves(void* p, Halves v) { vst1q_u16(static_cast<uint16_t*>(p), v); }
template <int32_t kLane>
inline void storeOneOfEach(uint16_t* p, Halves v) {
  vst1q_lane_u16(p, v, kLane);
}
inline void storeRow(uint16_t* row, const uint16_t* steps, int32_t) { std::memcpy(row, steps, 16 * sizeof *row); }
inline Halves splatHalves(uint16_t v) { return vdupq_n_u16(v); }
inline Halves addHalves(Halves a, Halves b) { return vaddq_u16(a, b); }
inline Halves subHalves(Halves a, Halves b) { return vsubq_u16(a, b); }
inline Halves addSaturatedHalves(Halves a, Halves b) { return vqaddq_u16(a, b); }
inline Halves minHalves(Halves a, Halves b) { return vminq_u16(a, b); }
inline Halves maxHalves(Halves a, Halves b) { return vmaxq_u16(a, b); }
inline Halves andHalves(Halves a, Halves b) { return vandq_u16(a, b); }
inline Halves orHalves(Halves a, Halves b) { return vorrq_u16(a, b); }
inline Halves shiftLeftHalves(Halves v, int32_t bits) { return vshlq_u16(v, vdupq_n_s16(static_cast<int16_t>(bits))); }
inline Halves shiftRightHalves(Halves v, int32_t bits) {
  return vshlq_u16(v, vdupq_n_s16(static_cast<int16_t>(-bits)));
}
inline Halves chooseLessHalves(Halves a, Halves b, Halves yes, Halves no) {
  return vbslq_u16(vcltq_u16(a, b), yes, no);
}
inline Halves chooseHalves(Halves mask, Halves yes, Halves no) { return vbslq_u16(mask, yes, no); }
inline Halves shiftUpHalves(Halves v, Halves filler) { return vextq_u16(filler, v, 7); }
inline Halves shiftDownHalves(Halves v, Halves filler) { return vextq_u16(v, filler, 1); }
inline Halves lowestInGroupHalves(Halves v) { return vdupq_n_u16(vminvq_u16(v)); }
inline Halves widenLow(Bytes v) { return vmovl_u8(vget_low_u8(v)); }
inline Halves widenHigh(Bytes v) { return vmovl_u8(vget_high_u8(v)); }
inline Halves maskLow(Bytes v) { return vreinterpretq_u16_u8(vzip1q_u8(v, v)); }
inline Halves maskHigh(Bytes v) { return vreinterpretq_u16_u8(vzip2q_u8(v, v)); }
inline Halves spreadHalves(const uint16_t* values) { return vdupq_n_u16(*values); }

struct Weights {
  uint8x8_t first, second;
};
inline Weights pairWeights(int32_t first, int32_t second) {
  return {vdup_n_u8(static_cast<uint8_t>(first)), vdup_n_u8(static_cast<uint8_t>(second))};
}
inline Halves weighLow(Bytes a, Bytes b, Weights w) {
  return vmlal_u8(vmull_u8(vget_low_u8(a), w.first), vget_low_u8(b), w.second);
}
inline Halves weighHigh(Bytes a, Bytes b, Weights w) {
  return vmlal_u8(vmull_u8(vget_high_u8(a), w.first), vget_high_u8(b), w.second);
}

inline Weights differenceWeights() { return pairWeights(1, 1); }
inline Halves differenceLow(Bytes a, Bytes b, Weights) { return vsubl_u8(vget_low_u8(a), vget_low_u8(b)); }
inline Halves differenceHigh(Bytes a, Bytes b, Weights) { return vsubl_u8(vget_high_u8(a), vget_high_u8(b)); }
inline Bytes orderedForHalves(Bytes v) { return v; }
constexpr bool kHasPixelCosts = false;
inline Bytes pixelCosts(const void*, const void*) { return vdupq_n_u8(0); }
inline uint16_t lowestHalf(Halves v) { return vminvq_u16(v); }
constexpr int32_t kPlaceBits = 4;
inline uint64_t equalPlaces(Halves first, Halves second, Halves wanted) {
  const uint8x16_t bytes = vcombine_u8(vmovn_u16(vceqq_u16(first, wanted)), vmovn_u16(vceqq_u16(second, wanted)));
  return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4)), 0);
}

inline Bytes andBytes(Bytes a, Bytes b) { return vandq_u8(a, b); }
using Differences = uint32x4_t;
inline Differences noDifferences() { return vdupq_n_u32(0); }
inline Differences addDifferences(Differences sums, Bytes a, Bytes b) {
  return vpadalq_u16(sums, vpaddlq_u8(vabdq_u8(a, b)));
}
inline uint32_t totalSum(Differences sums) { return vaddvq_u32(sums); }
constexpr int32_t kDifferencesApart = 0;
inline Differences doubledDifferences(Differences sums) { return sums; }
inline Differences addDifferenceHalves(Differences a, Differences) { return a; }
inline void storePairTotals(int32_t*, ptrdiff_t, Differences, Differences, Differences, Differences) {}

[[gnu::always_inline]] inline Bytes spreadUnit(const void* p) {
  const uint8x8_t unit = vld1_u8(static_cast<const uint8_t*>(p));
  return vcombine_u8(unit, unit);
}
[[gnu::always_inline]] inline Bytes shiftUpUnits(Bytes v, Bytes before) { return vextq_u8(before, v, 8); }
[[gnu::always_inline]] inline Bytes shiftDownUnits(Bytes v, Bytes after) { return vextq_u8(v, after, 8); }
[[gnu::always_inline]] inline Bytes lowestUnit(Bytes v) { return vminq_u8(v, vextq_u8(v, v, 8)); }
[[gnu::always_inline]] inline Bytes lowestUnits(const Bytes (&v)[2]) {
  const uint64x2_t a = vreinterpretq_u64_u8(v[0]), b = vreinterpretq_u64_u8(v[1]);
  return vminq_u8(vreinterpretq_u8_u64(vzip1q_u64(a, b)), vreinterpretq_u8_u64(vzip2q_u64(a, b)));
}
[[gnu::always_inline]] inline Bytes lowestWhereEqual(Bytes lowest, Bytes a, Bytes b, Bytes v) {
  return vminq_u8(lowest, vornq_u8(v, vceqq_u8(a, b)));
}
[[gnu::always_inline]] inline Bytes lowestWhereAtLeast(Bytes lowest, Bytes a, Bytes b, Bytes v) {
  return vminq_u8(lowest, vornq_u8(v, vcgeq_u8(a, b)));
}
inline Halves lowestGroupHalves(Halves v) { return v; }
inline void storeFirstGroup(void* p, Halves v) { storeHalves(p, v); }
[[gnu::always_inline]] inline Bytes loadRuns(const uint8_t* base, const uint8_t* blocks, int32_t v) {
  return loadBytes(base + 32 * blocks[v / 2] + 16 * (v & 1));
}
[[gnu::always_inline]] inline void storeRuns(uint8_t* base, const uint8_t* blocks, int32_t v, Bytes value) {
  storeBytes(base + 32 * blocks[v / 2] + 16 * (v & 1), value);
}
template <int32_t kBits>
inline Bytes zipLow(Bytes a, Bytes b) {
  if constexpr (kBits == 8) return vzip1q_u8(a, b);
  if constexpr (kBits == 16) return vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
  if constexpr (kBits == 32) return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
  return vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
}
template <int32_t kBits>
inline Bytes zipHigh(Bytes a, Bytes b) {
  if constexpr (kBits == 8) return vzip2q_u8(a, b);
  if constexpr (kBits == 16) return vreinterpretq_u8_u16(vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
  if constexpr (kBits == 32) return vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
  return vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
}

}  // namespace
