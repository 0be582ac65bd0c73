// SPDX-License-Identifier: Apache-2.0
// Vector form of the wide census; compiled once per instruction set by cuda/simd/isa_*.cc. No include guard on purpose.
//
// Comparisons are shifted into four bytes per pixel and word; a gradient is its rise and its fall, each cut at 0: g >= t is
// rise >= t above 0 and -t >= fall from 0 down.

namespace {

struct WideCensusWindow {
  const uint8_t* rows[2 * kWideCensusRadius + 1];

  WideCensusWindow(ImageView<const uint8_t> image, int32_t y) {
    for (int32_t j = -kWideCensusRadius; j <= kWideCensusRadius; ++j) {
      rows[j + kWideCensusRadius] = image.row(lesser(greater(y + j, 0), image.height - 1));
    }
  }
  const uint8_t* operator[](int32_t j) const { return rows[j + kWideCensusRadius]; }
};

/// Columns of a half's census rows: row -2, row -1, then two of row 0; or the other two of row 0, then rows 1 and 2.
struct WideCensusHalf {
  uint32_t* out;
  bool second;

  /// compare(i, j) for the twelve neighbours, in the order of their bits.
  template <class Compare>
  [[gnu::always_inline]] void neighbours(Compare&& compare) const {
    if (second) {
      compare(1, 0);
      compare(2, 0);
    }
#pragma GCC unroll 2
    for (int32_t row = 0; row < 2; ++row) {
      const int32_t j = second ? row + 1 : row - 2;
#pragma GCC unroll 5
      for (int32_t i = -kWideCensusRadius; i <= kWideCensusRadius; ++i) compare(i, j);
    }
    if (!second) {
      compare(-2, 0);
      compare(-1, 0);
    }
  }

  /// One pixel, for the columns whose window leaves the image.
  void atBorder(const WideCensusWindow& window, int32_t width, int32_t x) const {
    uint32_t bits = 0;
    const auto column = [&](int32_t at) { return lesser(greater(at, 0), width - 1); };
    const auto append = [&](int32_t u, int32_t v) { bits = bits << 1 | static_cast<uint32_t>(u >= v); };
    neighbours([&](int32_t i, int32_t j) { append(window[j][column(x + i)], window[0][x]); });
    const int32_t gradient =
        second ? window[1][x] - window[-1][x] : window[0][column(x + 1)] - window[0][column(x - 1)];
    for (const int16_t threshold : kWideThresholds) append(gradient, threshold);
    out[x] = bits;
  }

  /// kLanes pixels from x on, whose windows lie inside the image.
  void inside(const WideCensusWindow& window, int32_t x) const {
    U8 byte[4] = {zeroU8(), zeroU8(), zeroU8(), zeroU8()};
    int32_t comparison = 1;  // bit 31 stays empty
    const auto append = [&](U8 mask) __attribute__((always_inline)) {
      U8& acc = byte[comparison++ >> 3];
      acc = sub(add(acc, acc), mask);
    };
    neighbours([&](int32_t i, int32_t j)
                   __attribute__((always_inline)) { append(maskGreaterEqual(window[j] + x + i, window[0] + x)); });
    const U8 ahead = loadU8(second ? window[1] + x : window[0] + x + 1);
    const U8 behind = loadU8(second ? window[-1] + x : window[0] + x - 1);
    const U8 rise = subSaturatedU8(ahead, behind), fall = subSaturatedU8(behind, ahead);
#pragma GCC unroll 19
    for (int32_t k = 0; k < kWideGradientBits; ++k) {
      const int32_t threshold = kWideThresholds[k];
      if (threshold > 0) append(maskGreaterEqualU8(rise, splatU8(static_cast<uint8_t>(threshold))));
      else append(maskGreaterEqualU8(splatU8(static_cast<uint8_t>(-threshold)), fall));
    }
    storeInterleaved(out + x, byte[3], byte[2], byte[1], byte[0]);
  }
};

inline void wideCensusRows(ImageView<const uint8_t> image, ImageView<uint32_t> first, ImageView<uint32_t> second,
                           int32_t firstRow, int32_t endRow) {
  const int32_t width = image.width;
  const int32_t insideEnd = width - kWideCensusRadius;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const WideCensusWindow window(image, y);
    for (const WideCensusHalf& half : {WideCensusHalf{first.row(y), false}, WideCensusHalf{second.row(y), true}}) {
      int32_t x = 0;
      for (; x < lesser(kWideCensusRadius, width); ++x) half.atBorder(window, width, x);
      if (insideEnd - x >= kLanes) {
        for (; x + kLanes <= insideEnd; x += kLanes) half.inside(window, x);
        if (x < insideEnd) half.inside(window, insideEnd - kLanes);  // overlaps the vector before it
        x = insideEnd;
      }
      for (; x < width; ++x) half.atBorder(window, width, x);
    }
  }
}

}  // namespace
