// SPDX-License-Identifier: Apache-2.0
// Groups of 16 bytes, the layout of the sgm and select stages: a register holds kGroups of them, and no operation mixes
// groups. This file has one group, as plain loops; every groups_*.h defines the same names.

namespace {

constexpr int32_t kGroups = 1;
/// Byte cells gain nothing in a scalar loop and would double the code to compile.
constexpr bool kHasByteCells = false;

struct Bytes {
  uint8_t of[16];
};
/// The same register as eight unsigned 16-bit values per group.
struct Halves {
  uint16_t of[8];
};

template <class Operation>
inline Bytes eachByte(Operation operation) {
  Bytes result;
  for (int32_t i = 0; i < 16; ++i) result.of[i] = static_cast<uint8_t>(operation(i));
  return result;
}
template <class Operation>
inline Halves eachHalf(Operation operation) {
  Halves result;
  for (int32_t i = 0; i < 8; ++i) result.of[i] = static_cast<uint16_t>(operation(i));
  return result;
}

inline Bytes loadBytes(const void* p) {
  Bytes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
/// Loads a register once, however often it is used: a load across cache lines costs two.
inline Bytes loadBytesOnce(const void* p) { return loadBytes(p); }
inline void storeBytes(void* p, Bytes v) { std::memcpy(p, &v, sizeof v); }
/// Stores to an aligned address that is not read again soon: past the caches if the CPU can.
inline void storePast(void* p, Bytes v) { storeBytes(p, v); }
/// Prefetches the cache line at p.
inline void fetchAhead(const void* p) { __builtin_prefetch(p); }
// clang-format off: one line an operation
inline Bytes splatBytes(uint8_t v) { return eachByte([&](int32_t) { return v; }); }
inline Bytes addBytes(Bytes a, Bytes b) { return eachByte([&](int32_t i) { return a.of[i] + b.of[i]; }); }
inline Bytes subBytes(Bytes a, Bytes b) { return eachByte([&](int32_t i) { return a.of[i] - b.of[i]; }); }
inline Bytes addSaturatedBytes(Bytes a, Bytes b) {
  return eachByte([&](int32_t i) { return lesser(a.of[i] + b.of[i], 255); });
}
inline Bytes minBytes(Bytes a, Bytes b) { return eachByte([&](int32_t i) { return lesser(a.of[i], b.of[i]); }); }
inline Bytes maxBytes(Bytes a, Bytes b) { return eachByte([&](int32_t i) { return greater(a.of[i], b.of[i]); }); }
inline Bytes orBytes(Bytes a, Bytes b) { return eachByte([&](int32_t i) { return a.of[i] | b.of[i]; }); }
inline Bytes xorBytes(Bytes a, Bytes b) { return eachByte([&](int32_t i) { return a.of[i] ^ b.of[i]; }); }
inline Bytes popcountBytes(Bytes v) {
  return eachByte([&](int32_t i) {
    int32_t x = v.of[i];
    x -= x >> 1 & 0x55;
    x = (x & 0x33) + (x >> 2 & 0x33);
    return (x + (x >> 4)) & 0x0f;
  });
}
/// Returns `yes` where the mask is 0xff, `no` where it is 0.
inline Bytes chooseBytes(Bytes mask, Bytes yes, Bytes no) {
  return eachByte([&](int32_t i) { return mask.of[i] != 0 ? yes.of[i] : no.of[i]; });
}
/// Byte i takes byte i - 1; byte 0 takes the filler's last byte.
inline Bytes shiftUpBytes(Bytes v, Bytes filler) {
  return eachByte([&](int32_t i) { return i > 0 ? v.of[i - 1] : filler.of[15]; });
}
/// Byte i takes byte i + 1; byte 15 takes the filler's first byte.
inline Bytes shiftDownBytes(Bytes v, Bytes filler) {
  return eachByte([&](int32_t i) { return i < 15 ? v.of[i + 1] : filler.of[0]; });
}
/// Returns the smallest byte of each group, in all of its bytes.
inline Bytes lowestInGroupBytes(Bytes v) {
  uint8_t lowest = v.of[0];
  for (int32_t i = 1; i < 16; ++i) lowest = lesser(lowest, v.of[i]);
  return splatBytes(lowest);
}

/// Byte b of word g fills group g of planes[b]. @param words kGroups words, rounded up to 8 bytes at least
inline void spreadWords(const uint32_t* words, Bytes* planes) {
  for (int32_t i = 0; i < 4; ++i) planes[i] = splatBytes(static_cast<uint8_t>(*words >> (8 * i)));
}
/// Byte g of `packed`, lowest first, fills group g.
inline Bytes spreadBytes(uint32_t packed) { return splatBytes(static_cast<uint8_t>(packed)); }
/// Reads four columns of kGroups rows, row g two pixels behind the row before: to[4][kGroups] = rows[g][at + i - 2 g].
inline void interleaveWords(const uint32_t* const* rows, ptrdiff_t at, uint32_t* to) {
  std::memcpy(to, rows[0] + at, 4 * sizeof *to);
}
inline void copyGroup(void* to, const void* from) { std::memcpy(to, from, 16); }

inline Halves loadHalves(const void* p) {
  Halves v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void storeHalves(void* p, Halves v) { std::memcpy(p, &v, sizeof v); }
/// Returns value kLane of each group, in order.
template <int32_t kLane>
inline void storeOneOfEach(uint16_t* p, Halves v) {
  *p = v.of[kLane];
}
/// Stores row g of 16 steps of kGroups values each.
inline void storeRow(uint16_t* row, const uint16_t* steps, int32_t) { std::memcpy(row, steps, 16 * sizeof *row); }
inline Halves splatHalves(uint16_t v) { return eachHalf([&](int32_t) { return v; }); }
inline Halves addHalves(Halves a, Halves b) { return eachHalf([&](int32_t i) { return a.of[i] + b.of[i]; }); }
inline Halves subHalves(Halves a, Halves b) { return eachHalf([&](int32_t i) { return a.of[i] - b.of[i]; }); }
inline Halves addSaturatedHalves(Halves a, Halves b) {
  return eachHalf([&](int32_t i) { return lesser(a.of[i] + b.of[i], 65535); });
}
inline Halves minHalves(Halves a, Halves b) { return eachHalf([&](int32_t i) { return lesser(a.of[i], b.of[i]); }); }
inline Halves maxHalves(Halves a, Halves b) { return eachHalf([&](int32_t i) { return greater(a.of[i], b.of[i]); }); }
inline Halves andHalves(Halves a, Halves b) { return eachHalf([&](int32_t i) { return a.of[i] & b.of[i]; }); }
inline Halves orHalves(Halves a, Halves b) { return eachHalf([&](int32_t i) { return a.of[i] | b.of[i]; }); }
inline Halves shiftLeftHalves(Halves v, int32_t bits) { return eachHalf([&](int32_t i) { return v.of[i] << bits; }); }
inline Halves shiftRightHalves(Halves v, int32_t bits) { return eachHalf([&](int32_t i) { return v.of[i] >> bits; }); }
/// Returns `yes` where a < b, else `no`.
inline Halves chooseLessHalves(Halves a, Halves b, Halves yes, Halves no) {
  return eachHalf([&](int32_t i) { return a.of[i] < b.of[i] ? yes.of[i] : no.of[i]; });
}
inline Halves chooseHalves(Halves mask, Halves yes, Halves no) {
  return eachHalf([&](int32_t i) { return mask.of[i] != 0 ? yes.of[i] : no.of[i]; });
}
inline Halves shiftUpHalves(Halves v, Halves filler) {
  return eachHalf([&](int32_t i) { return i > 0 ? v.of[i - 1] : filler.of[7]; });
}
inline Halves shiftDownHalves(Halves v, Halves filler) {
  return eachHalf([&](int32_t i) { return i < 7 ? v.of[i + 1] : filler.of[0]; });
}
inline Halves lowestInGroupHalves(Halves v) {
  uint16_t lowest = v.of[0];
  for (int32_t i = 1; i < 8; ++i) lowest = lesser(lowest, v.of[i]);
  return splatHalves(lowest);
}
/// Returns bytes 0 to 7 (high: 8 to 15) of each group as halves.
inline Halves widenLow(Bytes v) { return eachHalf([&](int32_t i) { return v.of[i]; }); }
inline Halves widenHigh(Bytes v) { return eachHalf([&](int32_t i) { return v.of[i + 8]; }); }
/// 0xffff where the byte is 0xff, 0 where it is 0.
inline Halves maskLow(Bytes v) { return eachHalf([&](int32_t i) { return v.of[i] * 257; }); }
inline Halves maskHigh(Bytes v) { return eachHalf([&](int32_t i) { return v.of[i + 8] * 257; }); }
// clang-format on
/// values: kGroups of them; value g fills group g.
inline Halves spreadHalves(const uint16_t* values) { return splatHalves(*values); }

/// Two factors of 0 to 127 for weighLow and weighHigh: a first + b second, widened; the result is below 32768.
struct Weights {
  int32_t first, second;
};
inline Weights pairWeights(int32_t first, int32_t second) { return {first, second}; }
inline Halves weighLow(Bytes a, Bytes b, Weights w) {
  return eachHalf([&](int32_t i) { return a.of[i] * w.first + b.of[i] * w.second; });
}
inline Halves weighHigh(Bytes a, Bytes b, Weights w) {
  return eachHalf([&](int32_t i) { return a.of[i + 8] * w.first + b.of[i + 8] * w.second; });
}

/// a - b, widened as widenLow and widenHigh do.
inline Weights differenceWeights() { return {1, -1}; }
inline Halves differenceLow(Bytes a, Bytes b, Weights w) { return weighLow(a, b, w); }
inline Halves differenceHigh(Bytes a, Bytes b, Weights w) { return weighHigh(a, b, w); }
/// Returns the bytes whose widenLow is the first half of all values and whose widenHigh is the second, in order.
inline Bytes orderedForHalves(Bytes v) { return v; }
/// Returns the sums of absolute differences, at most 255, between one pixel of eight bytes and as many others as a
/// register has bytes, in the order of orderedForHalves. Not called if kHasPixelCosts is false: the register cannot sum
/// eight bytes at once.
constexpr bool kHasPixelCosts = false;
inline Bytes pixelCosts(const void*, const void*) { return {}; }
/// Returns the smallest value of a register.
inline uint16_t lowestHalf(Halves v) { return lowestInGroupHalves(v).of[0]; }
/// Compares each value of two registers with wanted's (all equal): kPlaceBits bits per value, the first lowest.
constexpr int32_t kPlaceBits = 1;
inline uint64_t equalPlaces(Halves first, Halves second, Halves wanted) {
  uint64_t bits = 0;
  for (int32_t i = 0; i < 8; ++i) {
    bits |= static_cast<uint64_t>(first.of[i] == wanted.of[i]) << i;
    bits |= static_cast<uint64_t>(second.of[i] == wanted.of[i]) << (8 + i);
  }
  return bits;
}

inline Bytes andBytes(Bytes a, Bytes b) {
  return eachByte([&](int32_t i) { return a.of[i] & b.of[i]; });
}
/// Sums of absolute differences in a register.
struct Differences {
  uint32_t sum;
};
inline Differences noDifferences() { return {0}; }
inline Differences addDifferences(Differences sums, Bytes a, Bytes b) {
  for (int32_t i = 0; i < 16; ++i)
    sums.sum += static_cast<uint32_t>(a.of[i] < b.of[i] ? b.of[i] - a.of[i] : a.of[i] - b.of[i]);
  return sums;
}
inline uint32_t totalSum(Differences sums) { return sums.sum; }
/// How many 64-bit sums of eight bytes a register has. 0: none, and the functions below are not called.
constexpr int32_t kDifferencesApart = 0;
/// Copies each sum into the high half of its 64 bits.
inline Differences doubledDifferences(Differences sums) { return sums; }
/// Adds low and high halves separately.
inline Differences addDifferenceHalves(Differences a, Differences) { return a; }
/// Stores for each of a, b, c and d, `apart` numbers from one to the next, the total of the low halves and then that of
/// the high halves.
inline void storePairTotals(int32_t*, ptrdiff_t, Differences, Differences, Differences, Differences) {}

// ---- Units of eight bytes, the layout of coarse-to-fine search: a group has two, a register 2 kGroups.

/// Fills all units with the eight bytes at p.
[[gnu::always_inline]] inline Bytes spreadUnit(const void* p) {
  return eachByte([&](int32_t i) { return static_cast<const uint8_t*>(p)[i % 8]; });
}
/// Unit i takes unit i - 1; unit 0 takes the last unit of `before`.
[[gnu::always_inline]] inline Bytes shiftUpUnits(Bytes v, Bytes before) {
  return eachByte([&](int32_t i) { return i < 8 ? before.of[i + 8] : v.of[i - 8]; });
}
/// Unit i takes unit i + 1; the last unit takes the first of `after`.
[[gnu::always_inline]] inline Bytes shiftDownUnits(Bytes v, Bytes after) {
  return eachByte([&](int32_t i) { return i < 8 ? v.of[i + 8] : after.of[i - 8]; });
}
/// Returns the bytewise minimum of all units, in all of them.
[[gnu::always_inline]] inline Bytes lowestUnit(Bytes v) {
  return eachByte([&](int32_t i) { return lesser(v.of[i % 8], v.of[i % 8 + 8]); });
}
/// Returns the bytewise minimum of the units of each v[i], in unit i.
[[gnu::always_inline]] inline Bytes lowestUnits(const Bytes (&v)[2]) {
  return eachByte([&](int32_t i) { return lesser(v[i / 8].of[i % 8], v[i / 8].of[i % 8 + 8]); });
}
/// Returns the smaller of `lowest` and v where a = b, else `lowest`.
[[gnu::always_inline]] inline Bytes lowestWhereEqual(Bytes lowest, Bytes a, Bytes b, Bytes v) {
  return eachByte([&](int32_t i) { return a.of[i] == b.of[i] ? lesser(lowest.of[i], v.of[i]) : lowest.of[i]; });
}
/// The same where a >= b.
[[gnu::always_inline]] inline Bytes lowestWhereAtLeast(Bytes lowest, Bytes a, Bytes b, Bytes v) {
  return eachByte([&](int32_t i) { return a.of[i] >= b.of[i] ? lesser(lowest.of[i], v.of[i]) : lowest.of[i]; });
}
/// Returns the minimum of all groups, in all of them.
inline Halves lowestGroupHalves(Halves v) { return v; }
/// Stores the first group.
inline void storeFirstGroup(void* p, Halves v) { storeHalves(p, v); }
/// Loads register v of runs of 32 bytes: run i is at base + 32 blocks[i].
[[gnu::always_inline]] inline Bytes loadRuns(const uint8_t* base, const uint8_t* blocks, int32_t v) {
  return loadBytes(base + 32 * blocks[v / 2] + 16 * (v & 1));
}
[[gnu::always_inline]] inline void storeRuns(uint8_t* base, const uint8_t* blocks, int32_t v, Bytes value) {
  storeBytes(base + 32 * blocks[v / 2] + 16 * (v & 1), value);
}
/// Interleaves the low (high) eight bytes of each group of a and b in pieces of kBits.
template <int32_t kBits>
inline Bytes zipLow(Bytes a, Bytes b) {
  constexpr int32_t kPiece = kBits / 8;
  return eachByte([&](int32_t i) {
    const int32_t piece = i / kPiece, from = piece / 2 * kPiece + i % kPiece;
    return piece % 2 == 0 ? a.of[from] : b.of[from];
  });
}
template <int32_t kBits>
inline Bytes zipHigh(Bytes a, Bytes b) {
  constexpr int32_t kPiece = kBits / 8;
  return eachByte([&](int32_t i) {
    const int32_t piece = i / kPiece, from = 8 + piece / 2 * kPiece + i % kPiece;
    return piece % 2 == 0 ? a.of[from] : b.of[from];
  });
}

}  // namespace
