// SPDX-License-Identifier: Apache-2.0
// Vector form of the two-gradient census; compiled once per instruction set by cuda/simd/isa_*.cc. No include guard on purpose.
//
// As in gradient_census.inl.h: comparisons are shifted into four bytes per pixel, and a gradient is its rise and its fall, each
// cut at 0: g >= t is rise >= t above 0 and -t >= fall from 0 down.

namespace {

struct TwoGradientCensusWindow {
  const uint8_t* rows[2 * kTwoGradientCensusRadius + 1];

  TwoGradientCensusWindow(ImageView<const uint8_t> image, int32_t y) {
    for (int32_t j = -kTwoGradientCensusRadius; j <= kTwoGradientCensusRadius; ++j) {
      rows[j + kTwoGradientCensusRadius] = image.row(lesser(greater(y + j, 0), image.height - 1));
    }
  }
  const uint8_t* operator[](int32_t j) const { return rows[j + kTwoGradientCensusRadius]; }
};

/// One pixel, for the columns whose window leaves the image.
inline uint32_t twoGradientCensusAtBorder(const TwoGradientCensusWindow& window, int32_t width, int32_t x) {
  uint32_t bits = 0;
  const auto append = [&](int32_t u, int32_t v) { bits = bits << 1 | static_cast<uint32_t>(u >= v); };
  for (int32_t k = 1; k <= kTwoGradientCensusRadius; ++k) {
    const int32_t right = lesser(x + k, width - 1), left = greater(x - k, 0);
    append(window[-k][right], window[k][left]);
    append(window[0][right], window[0][left]);
    append(window[k][right], window[-k][left]);
    append(window[k][x], window[-k][x]);
  }
  const int32_t horizontal = window[0][lesser(x + 1, width - 1)] - window[0][greater(x - 1, 0)];
  const int32_t vertical = window[1][x] - window[-1][x];
  for (const int16_t threshold : kHorizontalThresholds) append(horizontal, threshold);
  for (const int16_t threshold : kVerticalThresholds) append(vertical, threshold);
  return bits;
}

/// kLanes pixels from x on, whose windows lie inside the image.
inline void twoGradientCensusInside(const TwoGradientCensusWindow& window, int32_t x, uint32_t* out) {
  U8 byte[4] = {zeroU8(), zeroU8(), zeroU8(), zeroU8()};
  int32_t comparison = 1;  // bit 31 stays empty
  const auto append = [&](U8 mask) {
    U8& acc = byte[comparison++ >> 3];
    acc = sub(add(acc, acc), mask);
  };
#pragma GCC unroll 2
  for (int32_t k = 1; k <= kTwoGradientCensusRadius; ++k) {
    append(maskGreaterEqual(window[-k] + x + k, window[k] + x - k));
    append(maskGreaterEqual(window[0] + x + k, window[0] + x - k));
    append(maskGreaterEqual(window[k] + x + k, window[-k] + x - k));
    append(maskGreaterEqual(window[k] + x, window[-k] + x));
  }
  const auto reaches = [&](U8 rise, U8 fall, int32_t threshold) {
    if (threshold > 0) append(maskGreaterEqualU8(rise, splatU8(static_cast<uint8_t>(threshold))));
    else append(maskGreaterEqualU8(splatU8(static_cast<uint8_t>(-threshold)), fall));
  };
  const U8 right = loadU8(window[0] + x + 1), left = loadU8(window[0] + x - 1);
  const U8 rightwards = subSaturatedU8(right, left), leftwards = subSaturatedU8(left, right);
#pragma GCC unroll 12
  for (int32_t k = 0; k < kHorizontalBits; ++k) reaches(rightwards, leftwards, kHorizontalThresholds[k]);
  const U8 below = loadU8(window[1] + x), above = loadU8(window[-1] + x);
  const U8 downwards = subSaturatedU8(below, above), upwards = subSaturatedU8(above, below);
#pragma GCC unroll 11
  for (int32_t k = 0; k < kVerticalBits; ++k) reaches(downwards, upwards, kVerticalThresholds[k]);
  storeInterleaved(out + x, byte[3], byte[2], byte[1], byte[0]);
}

inline void twoGradientCensusRows(ImageView<const uint8_t> image, ImageView<uint32_t> census, int32_t firstRow,
                                  int32_t endRow) {
  const int32_t width = image.width;
  const int32_t insideEnd = width - kTwoGradientCensusRadius;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const TwoGradientCensusWindow window(image, y);
    uint32_t* out = census.row(y);
    int32_t x = 0;
    for (; x < lesser(kTwoGradientCensusRadius, width); ++x) out[x] = twoGradientCensusAtBorder(window, width, x);
    if (insideEnd - x >= kLanes) {
      for (; x + kLanes <= insideEnd; x += kLanes) twoGradientCensusInside(window, x, out);
      if (x < insideEnd) twoGradientCensusInside(window, insideEnd - kLanes, out);  // overlaps the vector before it
      x = insideEnd;
    }
    for (; x < width; ++x) out[x] = twoGradientCensusAtBorder(window, width, x);
  }
}

}  // namespace
