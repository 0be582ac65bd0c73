// SPDX-License-Identifier: Apache-2.0
// The vector functions of the stages' .inl.h files with one lane, for CPUs without another set and for debugging. Every
// vec_*.h defines the same names.

namespace {

constexpr int32_t kLanes = 1;
using U8 = uint8_t;

inline U8 zeroU8() { return 0; }
inline U8 add(U8 a, U8 b) { return static_cast<U8>(a + b); }
inline U8 sub(U8 a, U8 b) { return static_cast<U8>(a - b); }

/// Returns 0xff in each lane where a[lane] >= b[lane], else 0.
template <class Pixel>
inline U8 maskGreaterEqual(const Pixel* a, const Pixel* b) {
  return *a >= *b ? 0xff : 0;
}

/// Writes kLanes words whose bytes, lowest first, are b0, b1, b2, b3.
inline void storeInterleaved(uint32_t* out, U8 b0, U8 b1, U8 b2, U8 b3) {
  *out = b0 | uint32_t{b1} << 8 | uint32_t{b2} << 16 | uint32_t{b3} << 24;
}

inline U8 loadU8(const uint8_t* p) { return *p; }
inline void storeU8(uint8_t* p, U8 v) { *p = v; }
inline U8 splatU8(uint8_t v) { return v; }
inline U8 subSaturatedU8(U8 a, U8 b) { return static_cast<U8>(a < b ? 0 : a - b); }
inline U8 maskGreaterEqualU8(U8 a, U8 b) { return a >= b ? 0xff : 0; }

// ---- Refinement and depth: 16-bit lanes (disparities) and 32-bit floats.

constexpr int32_t kLanesI16 = 1;
using I16 = int16_t;

inline I16 loadI16(const int16_t* p) { return *p; }
inline void storeI16(int16_t* p, I16 v) { *p = v; }
inline I16 splatI16(int16_t v) { return v; }
inline I16 subI16(I16 a, I16 b) { return static_cast<I16>(a - b); }  ///< wraps
inline I16 minI16(I16 a, I16 b) { return b < a ? b : a; }
inline I16 maxI16(I16 a, I16 b) { return a < b ? b : a; }
/// Returns -1 in each lane where the relation holds, else 0.
inline I16 equalI16(I16 a, I16 b) { return a == b ? -1 : 0; }
inline I16 lessI16(I16 a, I16 b) { return a < b ? -1 : 0; }
inline I16 andI16(I16 a, I16 b) { return a & b; }
/// Returns b without the bits of a.
inline I16 andNotI16(I16 a, I16 b) { return static_cast<I16>(~a & b); }
/// Returns `yes` where the mask is -1, `no` where it is 0.
inline I16 selectI16(I16 mask, I16 yes, I16 no) { return mask != 0 ? yes : no; }
/// Clears each of kLanesI16 bytes whose mask lane is 0.
inline void keepBytes(uint8_t* p, I16 mask) { *p &= static_cast<uint8_t>(mask); }

inline I16 addI16(I16 a, I16 b) { return static_cast<I16>(a + b); }  ///< wraps
inline I16 subSaturatedI16(I16 a, I16 b) {
  const int32_t difference = a - b;
  return static_cast<I16>(difference > 32767 ? 32767 : (difference < -32768 ? -32768 : difference));
}
inline I16 absoluteI16(I16 v) { return static_cast<I16>(v < 0 ? -v : v); }  ///< -32768 stays
/// Returns floor((a + b) / 2) without overflow.
inline I16 averageFloorI16(I16 a, I16 b) { return static_cast<I16>((a + b) >> 1); }
inline I16 loadBytesAsI16(const uint8_t* p) { return *p; }
inline bool anyI16(I16 mask) { return mask != 0; }  ///< of lanes that are -1 or 0

/// Stores the sum of min(largest, |a - b|) over each eight of the 8 kEights bytes at a and b, at most 255, as a byte.
constexpr int32_t kEights = 1;
inline void storeUnlikeEights(uint8_t* out, const uint8_t* a, const uint8_t* b, uint8_t largest) {
  int32_t sum = 0;
  for (int32_t i = 0; i < 8; ++i) {
    const int32_t difference = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
    sum += difference < largest ? difference : largest;
  }
  *out = static_cast<uint8_t>(sum);
}
inline void storeBytesI16(uint8_t* p, I16 v) { *p = static_cast<uint8_t>(v); }  ///< lanes of 0 to 255

/// Returns table[index] of each lane, for a table of 256 or 64 entries. Every index must be in the table.
inline U8 lookUp64U8(const uint8_t* table, U8 index) { return table[index]; }
inline U8 lookUp256U8(const uint8_t* table, U8 index) { return table[index]; }

/// The following treat lanes as uint16.
inline I16 minU16(I16 a, I16 b) { return static_cast<uint16_t>(b) < static_cast<uint16_t>(a) ? b : a; }
inline I16 maxU16(I16 a, I16 b) { return static_cast<uint16_t>(a) < static_cast<uint16_t>(b) ? b : a; }
inline I16 addSaturatedU16(I16 a, I16 b) {
  const uint32_t sum = uint32_t{static_cast<uint16_t>(a)} + static_cast<uint16_t>(b);
  return static_cast<I16>(sum > 65535 ? 65535 : sum);
}
inline I16 mulHighU16(I16 a, I16 b) {  ///< the upper half of each product
  return static_cast<I16>((uint32_t{static_cast<uint16_t>(a)} * static_cast<uint16_t>(b)) >> 16);
}
inline I16 mulLowU16(I16 a, I16 b) {  ///< the lower half
  return static_cast<I16>(uint32_t{static_cast<uint16_t>(a)} * static_cast<uint16_t>(b));
}

constexpr int32_t kLanesF32 = 1;
using F32 = float;
using MaskF32 = bool;

inline F32 loadI16AsF32(const int16_t* p) { return static_cast<float>(*p); }
inline F32 loadF32(const float* p) { return *p; }
inline void storeF32(float* p, F32 v) { *p = v; }
inline F32 splatF32(float v) { return v; }
inline F32 addF32(F32 a, F32 b) { return a + b; }
inline F32 subF32(F32 a, F32 b) { return a - b; }
inline F32 mulF32(F32 a, F32 b) { return a * b; }
inline F32 floorF32(F32 a) { return __builtin_floorf(a); }
inline F32 divF32(F32 a, F32 b) { return a / b; }  ///< one IEEE division per lane
inline MaskF32 lessF32(F32 a, F32 b) { return a < b; }
inline MaskF32 notEqualF32(F32 a, F32 b) { return a != b; }
inline MaskF32 bothF32(MaskF32 a, MaskF32 b) { return a && b; }
inline F32 selectF32(MaskF32 mask, F32 yes, F32 no) { return mask ? yes : no; }
/// Stores lanes within [0, 65536), truncated.
inline void storeTruncatedU16(uint16_t* p, F32 v) { *p = static_cast<uint16_t>(v); }

constexpr int32_t kLanesI32 = 1;
using I32 = int32_t;

/// Loads from any address.
inline I32 loadI32(const void* p) {
  I32 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline I32 splatI32(int32_t v) { return v; }
inline I32 laneI32() { return 0; }  ///< 0, 1, 2, ...
inline I32 addI32(I32 a, I32 b) { return a + b; }
inline I32 subI32(I32 a, I32 b) { return a - b; }
inline I32 mulI32(I32 a, I32 b) { return a * b; }  ///< low 32 bits
inline I32 minI32(I32 a, I32 b) { return b < a ? b : a; }
inline I32 maxI32(I32 a, I32 b) { return a < b ? b : a; }
inline I32 andI32(I32 a, I32 b) { return a & b; }
inline I32 orI32(I32 a, I32 b) { return a | b; }
inline I32 xorI32(I32 a, I32 b) { return a ^ b; }
template <int kBits>
inline I32 shiftRightI32(I32 v) {  ///< fills with zeros
  return static_cast<I32>(static_cast<uint32_t>(v) >> kBits);
}
template <int kBits>
inline I32 shiftLeftI32(I32 v) {
  return static_cast<I32>(static_cast<uint32_t>(v) << kBits);
}
inline bool anyAboveI32(I32 a, I32 b) { return a > b; }
/// Returns per lane: low half of a times low half of b plus high half times high half, the halves as int16.
inline I32 pairSumI32(I32 a, I32 b) {
  return static_cast<int16_t>(a) * static_cast<int16_t>(b) + (a >> 16) * (b >> 16);
}
/// Returns per lane the 32 bits at base + offset, any address. Reads no other byte.
inline I32 gatherI32(const uint8_t* base, I32 offset) { return loadI32(base + offset); }
/// Returns per lane table[index], index 0 to 3.
inline I32 lookup4I32(const int32_t* table, I32 index) { return table[index]; }
inline bool anyAboveUnsignedI32(I32 a, I32 b) { return static_cast<uint32_t>(a) > static_cast<uint32_t>(b); }
/// Bytes that pickI32 reads of each row; 0 if it does not exist.
constexpr int32_t kWindowBytes = 0;
/// Returns per lane the 32 bits at row + offset, offset 0 to kWindowBytes - 4, of row b where `second` is 1, and a
/// where it is 0.
inline I32 pickI32(const uint8_t* a, const uint8_t* b, I32 offset, I32 second) {
  return loadI32((second != 0 ? b : a) + offset);
}
/// Splits 2 kLanesI32 words into those at even and odd places.
inline void loadPairsI32(const int32_t* p, I32& even, I32& odd) {
  even = p[0];
  odd = p[1];
}
inline void storeBytesI32(uint8_t* p, I32 v) { *p = static_cast<uint8_t>(v); }  ///< the low byte of each lane
inline void storeHalvesI32(void* p, I32 v) {                                    ///< the low 16 bits of each lane
  const uint16_t half = static_cast<uint16_t>(v);
  std::memcpy(p, &half, sizeof half);
}
inline void storeTriplesI32(uint8_t* p, I32 v) {  ///< the low three bytes of each lane, contiguous
  p[0] = static_cast<uint8_t>(v);
  p[1] = static_cast<uint8_t>(v >> 8);
  p[2] = static_cast<uint8_t>(v >> 16);
}

inline void storeI32(int32_t* p, I32 v) { *p = v; }
inline I32 loadBytesAsI32(const uint8_t* p) { return *p; }
inline I32 truncatedI32(F32 v) { return static_cast<I32>(v); }  ///< lanes within int32
/// Stores words of a and b alternately, to any address.
inline void storeTwos(void* p, I32 a, I32 b) {
  const I32 words[2] = {a, b};
  std::memcpy(p, words, sizeof words);
}
/// Stores words of a, b, c and d in turn, to any address.
inline void storeFours(void* p, F32 a, F32 b, F32 c, I32 d) {
  const F32 values[3] = {a, b, c};
  std::memcpy(p, values, sizeof values);
  std::memcpy(static_cast<uint8_t*>(p) + sizeof values, &d, sizeof d);
}
/// Loads three contiguous bytes per lane, the last one lowest; the highest byte is 0. Reads no other byte.
inline I32 loadReversedTriplesI32(const uint8_t* p) { return p[2] | p[1] << 8 | p[0] << 16; }
/// Stores a word of a, the low half of a word of b and a word of c in turn, ten bytes a lane, to any address.
inline void storeTens(void* p, I32 a, I32 b, I32 c) {
  auto* out = static_cast<uint8_t*>(p);
  const auto half = static_cast<uint16_t>(b);
  std::memcpy(out, &a, sizeof a);
  std::memcpy(out + 4, &half, sizeof half);
  std::memcpy(out + 6, &c, sizeof c);
}
inline int32_t lowestI32(I32 v) { return v; }  ///< smallest lane

}  // namespace
