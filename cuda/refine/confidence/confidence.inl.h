// SPDX-License-Identifier: Apache-2.0
// Vector form of the confidence; compiled once per instruction set by cuda/cpu/isa_*.cc. No include guard on purpose.
//
// A stripe of columns goes down the rows: the rows that a pixel looks at lie in a ring, their columns beside the stripe with them, and
// each row is brought in once. The sums over windows are sums of columns, to which a row is added below and from which one is taken
// above. What follows the sums are looks into tables, pixel by pixel.

namespace {

constexpr int32_t kSureColumns = 256;  // of a stripe
constexpr int32_t kSureRing = 16;      // rows kept; at least 2 kWideRadius + 1
constexpr int32_t kWideColumns = kSureColumns + 2 * kWideRadius;
constexpr int32_t kWideRoom = (kWideColumns + kLanesI16 - 1) / kLanesI16 * kLanesI16;  // whole vectors
static_assert(kSureColumns % kLanesI16 == 0, "a stripe is whole vectors");

/// What a row gives the pixels of a stripe; column 0 is the one `radius` left of the stripe.
struct SureRow {
  alignas(64) int16_t disparity[kSureColumns + 2 * kSupportRadius];
  alignas(64) int16_t certainty[kSureColumns + 2 * kSupportRadius];
  alignas(64) int16_t step[kWideRoom] = {};
  alignas(64) int16_t unmatched[kWideRoom] = {};
};

constexpr int16_t kSupportScoreOf[kSupportScores] = DEPTHWATT_SUPPORT_SCORES;
constexpr int16_t kUnmatchedScoreOf[kUnmatchedScores] = DEPTHWATT_UNMATCHED_SCORES;
constexpr int16_t kTextureScoreOf[kTextureScores] = DEPTHWATT_TEXTURE_SCORES;
constexpr uint8_t kCurveAt[kCurvePoints] = DEPTHWATT_CONFIDENCE_CURVE;

inline void bringSureRow(const uint8_t* grey, const int16_t* disparity, const uint8_t* certainty, bool zeroIsEstimated,
                         int32_t width, int32_t first, SureRow& row) {
  int16_t disparities[kWideColumns];
  uint8_t certainties[kWideColumns], values[kWideColumns + 1];
  const int32_t from = first - kWideRadius;
  if (from > 0 && from + kWideColumns <= width) {
    std::memcpy(disparities, disparity + from, sizeof disparities);
    std::memcpy(certainties, certainty + from, sizeof certainties);
    std::memcpy(values, grey + from - 1, sizeof values);
  } else {
    const auto column = [&](int32_t x) { return lesser(greater(x, 0), width - 1); };
    values[0] = grey[column(from - 1)];
    for (int32_t i = 0; i < kWideColumns; ++i) {
      const int32_t x = column(from + i);
      disparities[i] = disparity[x];
      certainties[i] = certainty[x];
      values[i + 1] = grey[x];
    }
  }
  constexpr int32_t kSkipped = kWideRadius - kSupportRadius;
  std::memcpy(row.disparity, disparities + kSkipped, sizeof row.disparity);
  for (int32_t i = 0; i < kSureColumns + 2 * kSupportRadius; ++i) row.certainty[i] = certainties[kSkipped + i];
  for (int32_t i = 0; i < kWideColumns; ++i) {
    const int32_t step = values[i + 1] - values[i];
    row.step[i] = static_cast<int16_t>(lesser(step < 0 ? -step : step, kMaxStep));
  }
  for (int32_t i = 0; i < kWideColumns; ++i) {
    row.unmatched[i] = disparities[i] == kInvalidDisparity || (zeroIsEstimated && certainties[i] == 0) ? 1 : 0;
  }
}

/// Of the columns of a stripe, over the rows of a window.
struct SureColumns {
  alignas(64) int16_t texture[kWideRoom] = {};
  alignas(64) int16_t wide[kWideRoom] = {};
  alignas(64) int16_t unmatched[kWideRoom] = {};
};

inline void addToColumns(int16_t* columns, const int16_t* row) {
  for (int32_t x = 0; x < kWideRoom; x += kLanesI16) {
    storeI16(columns + x, addI16(loadI16(columns + x), loadI16(row + x)));
  }
}
inline void takeFromColumns(int16_t* columns, const int16_t* row) {
  for (int32_t x = 0; x < kWideRoom; x += kLanesI16) {
    storeI16(columns + x, subI16(loadI16(columns + x), loadI16(row + x)));
  }
}

template <int32_t kCount>
inline I16 sumOfColumns(const int16_t* columns) {
  I16 sum = loadI16(columns);
  for (int32_t i = 1; i < kCount; ++i) sum = addI16(sum, loadI16(columns + i));
  return sum;
}

inline uint8_t sureOf(int32_t support, int32_t unmatched, int32_t texture, int32_t wide) {
  const int32_t score = kSupportScoreOf[support >> kSupportBits] + kUnmatchedScoreOf[unmatched >> kUnmatchedBits] +
                        kTextureScoreOf[texture >> kTextureBits];
  const int32_t value = kCurveAt[lesser(greater(score, kLowestScore), kHighestScore) - kLowestScore];
  return static_cast<uint8_t>(greater(lesser(value, kSurePerStep * wide), 1));
}

inline void confidenceRows(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                           ImageView<const uint8_t> certainty, bool zeroIsEstimated, ImageView<uint8_t> sure,
                           int32_t firstRow, int32_t endRow) {
  SureRow ring[kSureRing];
  const int32_t width = grey.width, last = grey.height - 1;
  const I16 agreement = splatI16(kAgreementQ4 + 1), towards = splatI16(-kAgreementQ4 - 1);
  for (int32_t first = 0; first < width; first += kSureColumns) {
    const int32_t count = lesser(kSureColumns, width - first);
    SureColumns columns;
    // Rows outside the image are brought in as what they replicate: number y is slot y % kSureRing.
    const auto slot = [&](int32_t y) -> SureRow& { return ring[(y + kSureRing) % kSureRing]; };
    const auto bring = [&](int32_t y) {
      const int32_t from = lesser(greater(y, 0), last);
      bringSureRow(grey.row(from), disparityQ4.row(from), certainty.row(from), zeroIsEstimated, width, first, slot(y));
      addToColumns(columns.wide, slot(y).step);
      addToColumns(columns.unmatched, slot(y).unmatched);
    };
    for (int32_t y = firstRow - kWideRadius; y < firstRow + kWideRadius; ++y) bring(y);
    for (int32_t y = firstRow - kSupportRadius; y < firstRow + kSupportRadius; ++y) {
      addToColumns(columns.texture, slot(y).step);
    }
    for (int32_t y = firstRow; y < endRow; ++y) {
      bring(y + kWideRadius);
      addToColumns(columns.texture, slot(y + kSupportRadius).step);
      const SureRow& own = slot(y);
      uint8_t* out = sure.row(y) + first;
      for (int32_t x = 0; x < count; x += kLanesI16) {
        const I16 centre = loadI16(own.disparity + kSupportRadius + x);
        const I16 low = subSaturatedI16(centre, agreement), high = subSaturatedI16(centre, towards);
        I16 sum = splatI16(0);
        for (int32_t j = -kSupportRadius; j <= kSupportRadius; ++j) {
          const SureRow& row = slot(y + j);
          for (int32_t i = 0; i <= 2 * kSupportRadius; ++i) {
            const I16 d = loadI16(row.disparity + x + i);
            const I16 agrees = andI16(lessI16(low, d), lessI16(d, high));
            sum = addI16(sum, andI16(agrees, loadI16(row.certainty + x + i)));
          }
        }
        alignas(64) int16_t support[kLanesI16], unmatched[kLanesI16], texture[kLanesI16], wide[kLanesI16];
        storeI16(support, sum);
        storeI16(unmatched, sumOfColumns<2 * kWideRadius + 1>(columns.unmatched + x));
        storeI16(wide, sumOfColumns<2 * kWideRadius + 1>(columns.wide + x));
        storeI16(texture, sumOfColumns<2 * kSupportRadius + 1>(columns.texture + kWideRadius - kSupportRadius + x));
        const int32_t lanes = lesser(kLanesI16, count - x);
        for (int32_t lane = 0; lane < lanes; ++lane) {
          const uint8_t value = sureOf(support[lane], unmatched[lane], texture[lane], wide[lane]);
          out[x + lane] = own.unmatched[kWideRadius + x + lane] != 0 ? 0 : value;
        }
      }
      takeFromColumns(columns.wide, slot(y - kWideRadius).step);
      takeFromColumns(columns.unmatched, slot(y - kWideRadius).unmatched);
      takeFromColumns(columns.texture, slot(y - kSupportRadius).step);
    }
  }
}

}  // namespace
