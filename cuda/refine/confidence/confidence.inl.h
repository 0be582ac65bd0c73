// SPDX-License-Identifier: Apache-2.0
// Vector form of the confidence; compiled once per instruction set.
//
// A stripe of columns goes down the rows. A ring holds the rows of a window with their columns outside the stripe, and
// each row is loaded once. Sums over windows are sums of columns, to which a row is added below and subtracted above.
// Scores are read from their tables a vector at a time.

#include "confidence.h"

namespace {

constexpr int32_t kSureColumns = 320;  // per stripe
constexpr int32_t kSureRing = 16;      // rows kept; at least 2 kWideRadius + 1
constexpr int32_t wholeVectors(int32_t columns) { return (columns + kLanes - 1) / kLanes * kLanes; }
constexpr int32_t kWideRoom = wholeVectors(kSureColumns + 2 * kWideRadius);  // with the columns outside the stripe
static_assert(kSureColumns % kLanes == 0, "a stripe is whole vectors");
static_assert(kSureColumns % kBlockColumns == 0, "a stripe is whole blocks");

/// A row's data for the pixels of a stripe; column 0 is kWideRadius left of the stripe.
struct SureRow {
  alignas(64) int16_t disparity[kWideRoom];
  alignas(64) int16_t certainty[kWideRoom];
  alignas(64) uint8_t step[kWideRoom];
  alignas(64) uint8_t unmatched[kWideRoom];
};

/// Scores of sums without their lowest bits, as bytes: the support's contribution from kLowestScore on, and the others'
/// deductions.
struct SureTables {
  alignas(64) uint8_t support[64] = {};
  alignas(64) uint8_t unmatched[64] = {};
  alignas(64) uint8_t texture[64] = {};
  alignas(64) uint8_t curve[256] = {};

  constexpr SureTables() {
    constexpr int32_t supports[kSupportScores] = DEPTHWATT_SUPPORT_SCORES;
    constexpr int32_t unmatcheds[kUnmatchedScores] = DEPTHWATT_UNMATCHED_SCORES;
    constexpr int32_t textures[kTextureScores] = DEPTHWATT_TEXTURE_SCORES;
    constexpr int32_t curves[kCurvePoints] = DEPTHWATT_CONFIDENCE_CURVE;
    for (int32_t i = 0; i < kSupportScores; ++i) support[i] = static_cast<uint8_t>(supports[i] - kLowestScore);
    for (int32_t i = 0; i < kUnmatchedScores; ++i) unmatched[i] = static_cast<uint8_t>(-unmatcheds[i]);
    for (int32_t i = 0; i < kTextureScores; ++i) texture[i] = static_cast<uint8_t>(-textures[i]);
    for (int32_t i = 0; i < kCurvePoints; ++i) curve[i] = static_cast<uint8_t>(curves[i]);
  }
  /// Returns whether the scores fit bytes: support is never outside the range of scores, and the others only subtract.
  static constexpr bool fits() {
    constexpr int32_t supports[kSupportScores] = DEPTHWATT_SUPPORT_SCORES;
    constexpr int32_t unmatcheds[kUnmatchedScores] = DEPTHWATT_UNMATCHED_SCORES;
    constexpr int32_t textures[kTextureScores] = DEPTHWATT_TEXTURE_SCORES;
    for (int32_t score : supports) {
      if (score < kLowestScore || score > kHighestScore) return false;
    }
    for (int32_t score : unmatcheds) {
      if (score > 0 || score < -255) return false;
    }
    for (int32_t score : textures) {
      if (score > 0 || score < -255) return false;
    }
    return kSupportScores <= 64 && kUnmatchedScores <= 64 && kTextureScores <= 64 && kCurvePoints <= 256;
  }
};
static_assert(SureTables::fits(), "scores are looked up as bytes");
constexpr SureTables kSureTables;

/// Loads a row's pixels from one on, replicated outside the image.
template <class Value>
struct SurePixels {
  Value copy[kWideRoom + 1];

  const Value* from(const Value* row, int32_t width, int32_t first, int32_t count) {
    if (first >= 0 && first + count <= width) return row + first;
    const int32_t before = lesser(greater(-first, 0), count), end = lesser(greater(width - first, 0), count);
    for (int32_t i = 0; i < before; ++i) copy[i] = row[0];
    if (end > before) {
      std::memcpy(copy + before, row + first + before, static_cast<size_t>(end - before) * sizeof(Value));
    }
    for (int32_t i = end; i < count; ++i) copy[i] = row[width - 1];
    return copy;
  }
};

/// Loads `room` columns, whole vectors, from `first` on.
inline void bringSureRow(const uint8_t* grey, const int16_t* disparity, const uint8_t* certainty, bool zeroIsEstimated,
                         int32_t width, int32_t first, int32_t room, SureRow& row) {
  SurePixels<int16_t> disparityPixels;
  SurePixels<uint8_t> certaintyPixels, greyPixels;
  const int16_t* disparities = disparityPixels.from(disparity, width, first, room);
  const uint8_t* certainties = certaintyPixels.from(certainty, width, first, room);
  const uint8_t* values = greyPixels.from(grey, width, first - 1, room + 1);
  std::memcpy(row.disparity, disparities, static_cast<size_t>(room) * sizeof(int16_t));
  const U8 largest = splatU8(kMaxStep);
  for (int32_t x = 0; x < room; x += kLanes) {
    const U8 before = loadU8(values + x), own = loadU8(values + x + 1);
    const U8 step = add(subSaturatedU8(own, before), subSaturatedU8(before, own));
    storeU8(row.step + x, sub(step, subSaturatedU8(step, largest)));
  }
  const I16 invalid = splatI16(kInvalidDisparity), zero = splatI16(0), one = splatI16(1);
  const I16 whereZero = zeroIsEstimated ? one : zero;
  for (int32_t x = 0; x < room; x += kLanesI16) {
    const I16 sure = loadBytesAsI16(certainties + x);
    storeI16(row.certainty + x, sure);
    const I16 estimated = andI16(equalI16(sure, zero), whereZero);
    storeBytesI16(row.unmatched + x, selectI16(equalI16(loadI16(disparities + x), invalid), one, estimated));
  }
}

/// Sums of a stripe's columns over the rows of a window.
struct SureColumns {
  alignas(64) int16_t texture[kWideRoom] = {};
  alignas(64) int16_t wide[kWideRoom] = {};
  alignas(64) int16_t unmatched[kWideRoom] = {};
};

inline void addToColumns(int16_t* columns, const uint8_t* row, int32_t room) {
  for (int32_t x = 0; x < room; x += kLanesI16) {
    storeI16(columns + x, addI16(loadI16(columns + x), loadBytesAsI16(row + x)));
  }
}
inline void takeFromColumns(int16_t* columns, const uint8_t* row, int32_t room) {
  for (int32_t x = 0; x < room; x += kLanesI16) {
    storeI16(columns + x, subI16(loadI16(columns + x), loadBytesAsI16(row + x)));
  }
}

template <int32_t kCount>
inline I16 sumOfColumns(const int16_t* columns) {
  I16 sum = loadI16(columns);
  for (int32_t i = 1; i < kCount; ++i) sum = addI16(sum, loadI16(columns + i));
  return sum;
}

/// The table indices and bounds of kLanes pixels.
struct SureSums {
  alignas(64) uint8_t support[kLanes], unmatched[kLanes], texture[kLanes], bound[kLanes];

  void store(uint8_t* out) const {
    const U8 support64 = lookUp64U8(kSureTables.support, loadU8(support));
    const U8 unmatched64 = lookUp64U8(kSureTables.unmatched, loadU8(unmatched));
    const U8 texture64 = lookUp64U8(kSureTables.texture, loadU8(texture));
    const U8 score = subSaturatedU8(subSaturatedU8(support64, unmatched64), texture64);
    const U8 value = lookUp256U8(kSureTables.curve, score), limit = loadU8(bound);
    const U8 bounded = sub(value, subSaturatedU8(value, limit));
    storeU8(out, add(bounded, subSaturatedU8(splatU8(1), bounded)));  // at least 1
  }
};

inline void confidenceRows(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                           ImageView<const uint8_t> certainty, bool zeroIsEstimated, ImageView<const uint8_t> limit,
                           ImageView<uint8_t> sure, int32_t firstRow, int32_t endRow) {
  constexpr int32_t kHalves = kLanes / kLanesI16, kSkipped = kWideRadius - kSupportRadius;
  SureRow ring[kSureRing];
  const int32_t width = grey.width, last = grey.height - 1;
  const I16 agreement = splatI16(kAgreementQ4 + 1), towards = splatI16(-kAgreementQ4 - 1);
  const I16 supportShift = splatI16(1 << (16 - kSupportBits)), textureShift = splatI16(1 << (16 - kTextureBits));
  const I16 unmatchedShift = splatI16(1 << (16 - kUnmatchedBits)), perStep = splatI16(kSurePerStep);
  const I16 zero = splatI16(0);
  for (int32_t first = 0; first < width; first += kSureColumns) {
    const int32_t count = lesser(kSureColumns, width - first);
    const int32_t room = wholeVectors(wholeVectors(count) + 2 * kWideRadius);
    SureColumns columns;
    alignas(64) uint8_t maximum[kSureColumns];
    std::memset(maximum, 255, sizeof maximum);
    // Rows outside the image are loaded as their replicas: row y is in slot y % kSureRing.
    const auto slot = [&](int32_t y) -> SureRow& { return ring[(y + kSureRing) % kSureRing]; };
    const auto bring = [&](int32_t y) {
      const int32_t from = lesser(greater(y, 0), last);
      bringSureRow(grey.row(from), disparityQ4.row(from), certainty.row(from), zeroIsEstimated, width,
                   first - kWideRadius, room, slot(y));
      addToColumns(columns.wide, slot(y).step, room);
      addToColumns(columns.unmatched, slot(y).unmatched, room);
    };
    for (int32_t y = firstRow - kWideRadius; y < firstRow + kWideRadius; ++y) bring(y);
    for (int32_t y = firstRow - kSupportRadius; y < firstRow + kSupportRadius; ++y) {
      addToColumns(columns.texture, slot(y).step, room);
    }
    for (int32_t y = firstRow; y < endRow; ++y) {
      bring(y + kWideRadius);
      if (limit.data != nullptr && (y == firstRow || y % kBlockRows == 0)) {
        const uint8_t* limits = limit.row(y / kBlockRows) + first / kBlockColumns;
        for (int32_t b = 0; b < blockColumnCount(count); ++b) {
          std::memset(maximum + kBlockColumns * b, limits[b], kBlockColumns);
        }
      }
      addToColumns(columns.texture, slot(y + kSupportRadius).step, room);
      const SureRow& own = slot(y);
      alignas(64) uint8_t values[kSureColumns];
      for (int32_t x0 = 0; x0 < count; x0 += kLanes) {
        SureSums sums;
        for (int32_t half = 0; half < kHalves; ++half) {
          const int32_t x = x0 + half * kLanesI16, at = half * kLanesI16;
          const I16 centre = loadI16(own.disparity + kWideRadius + x);
          const I16 low = subSaturatedI16(centre, agreement), high = subSaturatedI16(centre, towards);
          I16 sum = zero;
          for (int32_t j = -kSupportRadius; j <= kSupportRadius; ++j) {
            const SureRow& row = slot(y + j);
            for (int32_t i = kSkipped; i <= kSkipped + 2 * kSupportRadius; ++i) {
              const I16 d = loadI16(row.disparity + x + i);
              const I16 agrees = andI16(lessI16(low, d), lessI16(d, high));
              sum = addI16(sum, andI16(agrees, loadI16(row.certainty + x + i)));
            }
          }
          const I16 unmatched = sumOfColumns<2 * kWideRadius + 1>(columns.unmatched + x);
          const I16 texture = sumOfColumns<2 * kSupportRadius + 1>(columns.texture + kSkipped + x);
          const I16 wide = sumOfColumns<2 * kWideRadius + 1>(columns.wide + x);
          storeBytesI16(sums.support + at, mulHighU16(sum, supportShift));
          storeBytesI16(sums.unmatched + at, mulHighU16(unmatched, unmatchedShift));
          storeBytesI16(sums.texture + at, mulHighU16(texture, textureShift));
          storeBytesI16(sums.bound + at, minI16(mulLowU16(wide, perStep), loadBytesAsI16(maximum + x)));
        }
        sums.store(values + x0);
        for (int32_t half = 0; half < kHalves; ++half) {
          const int32_t x = x0 + half * kLanesI16;
          keepBytes(values + x, equalI16(loadBytesAsI16(own.unmatched + kWideRadius + x), zero));
        }
      }
      std::memcpy(sure.row(y) + first, values, static_cast<size_t>(count));
      takeFromColumns(columns.wide, slot(y - kWideRadius).step, room);
      takeFromColumns(columns.unmatched, slot(y - kWideRadius).unmatched, room);
      takeFromColumns(columns.texture, slot(y - kSupportRadius).step, room);
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(ConfidenceKernels, confidenceRows)
