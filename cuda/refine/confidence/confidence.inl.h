// SPDX-License-Identifier: Apache-2.0
// Vector form of the confidence; compiled once per instruction set by cuda/cpu/isa_*.cc. No include guard on purpose.
//
// A stripe of columns goes down the rows: the rows that a pixel looks at lie in a ring, their columns beside the stripe with them, and
// each row is brought in once. What follows the sums is a look into a table, pixel by pixel.

namespace {

constexpr int32_t kSureColumns = 256;  // of a stripe
constexpr int32_t kSureRing = 8;       // rows kept; at least 2 kSupportRadius + 1
static_assert(kSureColumns % kLanesI16 == 0, "a stripe is whole vectors");

/// What a row gives the pixels of a stripe; column 0 is the one `margin` left of the stripe.
struct SureRow {
  alignas(64) int16_t disparity[kSureColumns + 2 * kSupportRadius];
  alignas(64) int16_t certainty[kSureColumns + 2 * kSupportRadius];
  alignas(64) int16_t texture[kSureColumns];  ///< the row's share of it
};

/// Every support that there is.
struct SureTable {
  uint8_t sure[256 * (kConfidenceKnots - 1)] = {};
  constexpr SureTable() {
    constexpr int32_t knots[kConfidenceKnots] = DEPTHWATT_CONFIDENCE_KNOTS;
    for (int32_t support = 0; support < 256 * (kConfidenceKnots - 1); ++support) {
      const int32_t k = support >> 8;
      sure[support] = static_cast<uint8_t>(knots[k] + (((knots[k + 1] - knots[k]) * (support & 255)) >> 8));
    }
  }
};
constexpr SureTable kSureTable;

inline void bringSureRow(const uint8_t* grey, const int16_t* disparity, const uint8_t* certainty, int32_t width,
                         int32_t first, SureRow& row) {
  const auto column = [&](int32_t x) { return lesser(greater(x, 0), width - 1); };
  constexpr int32_t kWide = kSureColumns + 2 * kSupportRadius;
  if (first - kSupportRadius >= 0 && first + kSureColumns + kSupportRadius <= width) {
    std::memcpy(row.disparity, disparity + first - kSupportRadius, sizeof row.disparity);
    for (int32_t i = 0; i < kWide; ++i) row.certainty[i] = certainty[first - kSupportRadius + i];
  } else {
    for (int32_t i = 0; i < kWide; ++i) {
      const int32_t x = column(first + i - kSupportRadius);
      row.disparity[i] = disparity[x];
      row.certainty[i] = certainty[x];
    }
  }
  constexpr int32_t kSteps = kSureColumns + 2 * kTextureRadiusX;
  alignas(64) uint8_t values[kSteps + 1];
  alignas(64) int16_t steps[kSteps + kLanesI16];
  if (first - kTextureRadiusX - 1 >= 0 && first + kSureColumns + kTextureRadiusX <= width) {
    std::memcpy(values, grey + first - kTextureRadiusX - 1, sizeof values);
  } else {
    // Left of the image nothing changes; its first column has no step either.
    for (int32_t i = 0; i <= kSteps; ++i) values[i] = grey[column(first + i - kTextureRadiusX - 1)];
  }
  for (int32_t i = 0; i < kSteps; ++i) {
    const int32_t step = values[i + 1] < values[i] ? values[i] - values[i + 1] : values[i + 1] - values[i];
    steps[i] = static_cast<int16_t>(lesser(step, kTextureMax));
  }
  for (int32_t x = 0; x < kSureColumns; x += kLanesI16) {
    I16 sum = loadI16(steps + x);
    for (int32_t i = 1; i <= 2 * kTextureRadiusX; ++i) sum = addI16(sum, loadI16(steps + x + i));
    storeI16(row.texture + x, sum);
  }
}

inline void confidenceRows(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                           ImageView<const uint8_t> certainty, ImageView<uint8_t> sure, int32_t firstRow,
                           int32_t endRow) {
  SureRow ring[kSureRing];
  const int32_t width = grey.width, last = grey.height - 1;
  const I16 agreement = splatI16(kAgreementQ4 + 1), towards = splatI16(-kAgreementQ4 - 1);
  for (int32_t first = 0; first < width; first += kSureColumns) {
    const int32_t count = lesser(kSureColumns, width - first);
    // Rows outside the image are brought in as what they replicate: number y is slot y % kSureRing.
    const auto slot = [&](int32_t y) -> SureRow& { return ring[(y + kSureRing) % kSureRing]; };
    const auto bring = [&](int32_t y) {
      const int32_t from = lesser(greater(y, 0), last);
      bringSureRow(grey.row(from), disparityQ4.row(from), certainty.row(from), width, first, slot(y));
    };
    for (int32_t y = firstRow - kSupportRadius; y < firstRow + kSupportRadius; ++y) bring(y);
    for (int32_t y = firstRow; y < endRow; ++y) {
      bring(y + kSupportRadius);
      const SureRow& own = slot(y);
      uint8_t* out = sure.row(y) + first;
      for (int32_t x = 0; x < count; x += kLanesI16) {
        const I16 centre = loadI16(own.disparity + kSupportRadius + x);
        const I16 low = subSaturatedI16(centre, agreement), high = subSaturatedI16(centre, towards);
        I16 sum = splatI16(0), texture = splatI16(0);
        for (int32_t j = -kSupportRadius; j <= kSupportRadius; ++j) {
          const SureRow& row = slot(y + j);
          for (int32_t i = 0; i <= 2 * kSupportRadius; ++i) {
            const I16 d = loadI16(row.disparity + x + i);
            const I16 agrees = andI16(lessI16(low, d), lessI16(d, high));
            sum = addI16(sum, andI16(agrees, loadI16(row.certainty + x + i)));
          }
          if (j >= -kTextureRadiusY && j <= kTextureRadiusY) texture = addI16(texture, loadI16(row.texture + x));
        }
        alignas(64) int16_t supports[kLanesI16], textures[kLanesI16];
        storeI16(supports, sum);
        storeI16(textures, texture);
        const int32_t lanes = lesser(kLanesI16, count - x);
        for (int32_t lane = 0; lane < lanes; ++lane) {
          const int32_t maxValue = kSurePerTexture * textures[lane];
          const int32_t value = greater(lesser<int32_t>(kSureTable.sure[supports[lane]], maxValue), 1);
          out[x + lane] =
              static_cast<uint8_t>(own.disparity[kSupportRadius + x + lane] == kInvalidDisparity ? 0 : value);
        }
      }
    }
  }
}

}  // namespace
