// SPDX-License-Identifier: Apache-2.0
// Vector form of cross-based aggregation; compiled once per instruction set.
//
// kCrossLanes disparities of a pixel are contiguous. A running sum along the row makes CAx a difference of two of its
// entries, and a running sum down the columns does the same for CA, so each takes one subtraction for
// arms of any length. The column sums are in a ring of 2 armY + 2 rows; row y - armY is finished when row y has been added.

#include "cross.h"
#include "exponential_tables.h"

namespace {

/// Lanes [0, n) pass, the others become the largest key: load at kCrossLanes - n.
constexpr int32_t kNoKey = 0x7fffffff;
struct CrossLaneMasks {
  int32_t words[2 * kCrossLanes] = {};
  constexpr CrossLaneMasks() {
    for (int32_t i = 0; i < 2 * kCrossLanes; ++i) words[i] = i < kCrossLanes ? kKeyBias : kNoKey;
  }
};
constexpr CrossLaneMasks kCrossLaneMasks;

inline int32_t partnersInside(const CrossSlice& slice, int32_t x) {
  // Lanes whose partner is inside the image come first: with rising disparity, partners move away from the near border.
  const int32_t room = slice.direction < 0 ? x - slice.firstDisparity : slice.own.width - 1 - x - slice.firstDisparity;
  return lesser(greater(room + 1, 0), slice.count);
}

/// Computes prefix[x + 1] = prefix[x] + the costs of x, for a whole row.
inline void crossCosts(const CrossSlice& slice, int32_t y, const int32_t* miniCensusCosts) {
  const uint8_t* own = slice.own.row(y);
  const uint8_t* other = slice.other.row(y);
  const uint8_t* ownCensus = slice.ownCensus.row(y);
  const uint8_t* otherCensus = slice.otherCensus.row(y);
  int32_t* prefix = slice.prefix;
  for (int32_t lane = 0; lane < kCrossLanes; ++lane) prefix[lane] = 0;
  for (int32_t x = 0; x < slice.own.width; ++x, prefix += kCrossLanes) {
    int32_t costs[kCrossLanes];
    const int32_t inside = partnersInside(slice, x);
    int32_t partner = x + slice.direction * slice.firstDisparity;
    for (int32_t lane = 0; lane < inside; ++lane, partner += slice.direction) {
      const int32_t difference = own[x] - other[partner];
      costs[lane] = slice.costs->difference[difference < 0 ? -difference : difference] +
                    miniCensusCosts[ownCensus[x] ^ otherCensus[partner]];
    }
    for (int32_t lane = inside; lane < kCrossLanes; ++lane) costs[lane] = kMaxCrossCost;
    for (int32_t lane = 0; lane < kCrossLanes; lane += kLanesI32) {
      storeI32(prefix + kCrossLanes + lane, addI32(loadI32(prefix + lane), loadI32(costs + lane)));
    }
  }
}

inline void crossSlice(const CrossSlice& slice) {
  const int32_t width = slice.own.width, height = slice.own.height;
  const int32_t ring = 2 * slice.armY + 2;
  const size_t rowWords = static_cast<size_t>(width) * kCrossLanes;
  const auto columns = [&](int32_t y) { return slice.columns + static_cast<size_t>(y % ring) * rowWords; };
  int32_t miniCensusCosts[64];
  for (int32_t bits = 0; bits < 64; ++bits) {
    int32_t distance = 0;
    for (int32_t rest = bits; rest != 0; rest &= rest - 1) ++distance;
    miniCensusCosts[bits] = slice.costs->census[distance];
  }
  for (size_t word = 0; word < rowWords; ++word) slice.columns[word] = 0;

  for (int32_t y = 0; y < height + slice.armY; ++y) {
    if (y < height) {
      crossCosts(slice, y, miniCensusCosts);
      const CrossArms* arms = slice.arms + static_cast<size_t>(y) * width;
      const int32_t* above = columns(y);
      int32_t* below = columns(y + 1);
      for (int32_t x = 0; x < width; ++x) {
        const int32_t* to = slice.prefix + (x + arms[x].right + 1) * kCrossLanes;
        const int32_t* from = slice.prefix + (x - arms[x].left) * kCrossLanes;
        for (int32_t lane = 0; lane < kCrossLanes; lane += kLanesI32) {
          const I32 along = subI32(loadI32(to + lane), loadI32(from + lane));
          storeI32(below + x * kCrossLanes + lane, addI32(loadI32(above + x * kCrossLanes + lane), along));
        }
      }
    }
    const int32_t done = y - slice.armY;
    if (done < 0) continue;
    const CrossArms* arms = slice.arms + static_cast<size_t>(done) * width;
    int32_t* best = slice.best + static_cast<size_t>(done) * width;
    for (int32_t x = 0; x < width; ++x) {
      const int32_t inside = partnersInside(slice, x);
      if (inside == 0) continue;
      const int32_t* to = columns(done + arms[x].down + 1) + x * kCrossLanes;
      const int32_t* from = columns(done - arms[x].up) + x * kCrossLanes;
      const int32_t* masks = kCrossLaneMasks.words + kCrossLanes - inside;
      I32 least = splatI32(kNoKey);
      for (int32_t lane = 0; lane < kCrossLanes; lane += kLanesI32) {
        const I32 sum = subI32(loadI32(to + lane), loadI32(from + lane));
        const I32 index = addI32(laneI32(), splatI32(kKeyBias + slice.firstIndex + lane));
        least = minI32(least, maxI32(xorI32(shiftLeftI32<9>(sum), index), loadI32(masks + lane)));
      }
      best[x] = lesser(best[x], lowestI32(least));
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(CbcaKernels, crossSlice)
