// SPDX-License-Identifier: Apache-2.0
// Vector form of the gradient census; compiled once per instruction set by cuda/simd/isa_*.cc. No include guard on purpose.
//
// As in census.inl.h, comparisons are shifted into four bytes per pixel. A gradient does not fit a byte with its sign: rise
// and fall, each cut at 0, do, and g >= t is rise >= t above 0 and -t >= fall from 0 down.

namespace {

struct GradientCensusWindow {
  const uint8_t* rows[2 * kGradientCensusRadius + 1];

  GradientCensusWindow(ImageView<const uint8_t> image, int32_t y) {
    for (int32_t j = -kGradientCensusRadius; j <= kGradientCensusRadius; ++j) {
      rows[j + kGradientCensusRadius] = image.row(lesser(greater(y + j, 0), image.height - 1));
    }
  }
  const uint8_t* operator[](int32_t j) const { return rows[j + kGradientCensusRadius]; }
};

/// One pixel, for the columns whose window leaves the image.
inline uint32_t gradientCensusAtBorder(const GradientCensusWindow& window, int32_t width, int32_t x) {
  uint32_t bits = 0;
  for (int32_t i = 1; i <= kGradientCensusRadius; ++i) {
    const int32_t right = lesser(x + i, width - 1), left = greater(x - i, 0);
    for (int32_t j = -kGradientCensusRadius; j <= kGradientCensusRadius; ++j) {
      bits = bits << 1 | static_cast<uint32_t>(window[j][right] >= window[-j][left]);
    }
  }
  for (int32_t j = 1; j <= kGradientCensusRadius; ++j) {
    bits = bits << 1 | static_cast<uint32_t>(window[j][x] >= window[-j][x]);
  }
  const int32_t gradient = window[0][lesser(x + 1, width - 1)] - window[0][greater(x - 1, 0)];
  for (const int16_t threshold : kGradientThresholds) bits = bits << 1 | static_cast<uint32_t>(gradient >= threshold);
  return bits;
}

/// kLanes pixels from x on, whose windows lie inside the image.
inline void gradientCensusInside(const GradientCensusWindow& window, int32_t x, uint32_t* out) {
  U8 byte[4] = {zeroU8(), zeroU8(), zeroU8(), zeroU8()};
  int32_t comparison = 1;  // bit 31 stays empty
  const auto append = [&](U8 mask) {
    U8& acc = byte[comparison++ >> 3];
    acc = sub(add(acc, acc), mask);
  };
#pragma GCC unroll 2
  for (int32_t i = 1; i <= kGradientCensusRadius; ++i) {
#pragma GCC unroll 5
    for (int32_t j = -kGradientCensusRadius; j <= kGradientCensusRadius; ++j) {
      append(maskGreaterEqual(window[j] + x + i, window[-j] + x - i));
    }
  }
#pragma GCC unroll 2
  for (int32_t j = 1; j <= kGradientCensusRadius; ++j) append(maskGreaterEqual(window[j] + x, window[-j] + x));
  const U8 right = loadU8(window[0] + x + 1), left = loadU8(window[0] + x - 1);
  const U8 rise = subSaturatedU8(right, left), fall = subSaturatedU8(left, right);
#pragma GCC unroll 19
  for (int32_t k = 0; k < kGradientBits; ++k) {
    const int32_t threshold = kGradientThresholds[k];
    if (threshold > 0) append(maskGreaterEqualU8(rise, splatU8(static_cast<uint8_t>(threshold))));
    else append(maskGreaterEqualU8(splatU8(static_cast<uint8_t>(-threshold)), fall));
  }
  storeInterleaved(out + x, byte[3], byte[2], byte[1], byte[0]);
}

inline void gradientCensusRows(ImageView<const uint8_t> image, ImageView<uint32_t> census, int32_t firstRow,
                               int32_t endRow) {
  const int32_t width = image.width;
  const int32_t insideEnd = width - kGradientCensusRadius;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const GradientCensusWindow window(image, y);
    uint32_t* out = census.row(y);
    int32_t x = 0;
    for (; x < lesser(kGradientCensusRadius, width); ++x) out[x] = gradientCensusAtBorder(window, width, x);
    if (insideEnd - x >= kLanes) {
      for (; x + kLanes <= insideEnd; x += kLanes) gradientCensusInside(window, x, out);
      if (x < insideEnd) gradientCensusInside(window, insideEnd - kLanes, out);  // overlaps the vector before it
      x = insideEnd;
    }
    for (; x < width; ++x) out[x] = gradientCensusAtBorder(window, width, x);
  }
}

}  // namespace
