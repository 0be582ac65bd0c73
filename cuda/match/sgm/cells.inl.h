// SPDX-License-Identifier: Apache-2.0
// The two kinds of cells of the recurrence: bytes if p2 allows it, else 16 bits in two vectors.

namespace {

struct NarrowCells {
  using Vec = Bytes;
  static constexpr int32_t kHalves = 1;

  static Vec load(const uint8_t* p, size_t) { return loadBytes(p); }
  static void store(uint8_t* p, size_t, Vec v) { storeBytes(p, v); }
  static void storePastCache(uint8_t* p, size_t, Vec v) { storePast(p, v); }
  static Vec splat(int32_t v) { return splatBytes(static_cast<uint8_t>(v)); }
  static Vec add(Vec a, Vec b) { return addBytes(a, b); }
  static Vec addSaturated(Vec a, Vec b) { return addSaturatedBytes(a, b); }
  static Vec sub(Vec a, Vec b) { return subBytes(a, b); }
  static Vec min(Vec a, Vec b) { return minBytes(a, b); }
  static Vec orBits(Vec a, Vec b) { return orBytes(a, b); }
  static Vec choose(Bytes mask, Vec yes, Vec no) { return chooseBytes(mask, yes, no); }
  static Vec up(Vec v, Vec infinite) { return shiftUpBytes(v, infinite); }
  static Vec down(Vec v, Vec infinite) { return shiftDownBytes(v, infinite); }
  static Vec lowestInGroup(Vec v) { return lowestInGroupBytes(v); }
  static Vec fromCost(Bytes cost) { return cost; }
  static Vec fromRows(const uint16_t* values) {
    uint32_t packed = 0;
    for (int32_t g = 0; g < kGroups; ++g) packed |= static_cast<uint32_t>(values[g]) << (8 * g);
    return spreadBytes(packed);
  }
};

struct WideCells {
  struct Vec {
    Halves low, high;
  };
  static constexpr int32_t kHalves = 2;

  /// The second half is `stride` bytes after the first.
  static Vec load(const uint8_t* p, size_t stride) { return {loadHalves(p), loadHalves(p + stride)}; }
  static void store(uint8_t* p, size_t stride, Vec v) {
    storeHalves(p, v.low);
    storeHalves(p + stride, v.high);
  }
  static void storePastCache(uint8_t* p, size_t stride, Vec v) { store(p, stride, v); }
  static Vec splat(int32_t v) {
    const Halves half = splatHalves(static_cast<uint16_t>(v));
    return {half, half};
  }
  static Vec add(Vec a, Vec b) { return {addHalves(a.low, b.low), addHalves(a.high, b.high)}; }
  static Vec addSaturated(Vec a, Vec b) {
    return {addSaturatedHalves(a.low, b.low), addSaturatedHalves(a.high, b.high)};
  }
  static Vec sub(Vec a, Vec b) { return {subHalves(a.low, b.low), subHalves(a.high, b.high)}; }
  static Vec min(Vec a, Vec b) { return {minHalves(a.low, b.low), minHalves(a.high, b.high)}; }
  static Vec orBits(Vec a, Vec b) { return {orHalves(a.low, b.low), orHalves(a.high, b.high)}; }
  static Vec choose(Bytes mask, Vec yes, Vec no) {
    const Halves low = maskLow(mask), high = maskHigh(mask);
    return {chooseHalves(low, yes.low, no.low), chooseHalves(high, yes.high, no.high)};
  }
  static Vec up(Vec v, Vec infinite) { return {shiftUpHalves(v.low, infinite.low), shiftUpHalves(v.high, v.low)}; }
  static Vec down(Vec v, Vec infinite) {
    return {shiftDownHalves(v.low, v.high), shiftDownHalves(v.high, infinite.low)};
  }
  static Vec lowestInGroup(Vec v) {
    const Halves lowest = lowestInGroupHalves(minHalves(v.low, v.high));
    return {lowest, lowest};
  }
  static Vec fromCost(Bytes cost) { return {widenLow(cost), widenHigh(cost)}; }
  static Vec fromRows(const uint16_t* values) {
    const Halves half = spreadHalves(values);
    return {half, half};
  }
};

}  // namespace
