// SPDX-License-Identifier: Apache-2.0
// Vector form of the census transform; compiled once per instruction set by cuda/simd/isa_*.cc. No include guard on purpose.
//
// A comparison of kLanes pixel pairs gives a byte of all ones or zeros per pixel. Shifting these into a byte,
// acc = 2 acc - mask, collects eight comparisons; four such bytes, interleaved, are the 32 bits of each pixel.
// The first byte takes seven comparisons, so that the last comparison lands in bit 0.

namespace {

/// Rows y - 3 to y + 3, replicated at the top and bottom.
template <class Pixel>
struct CensusRowWindow {
  const Pixel* rows[2 * kCensusRadiusY + 1];

  CensusRowWindow(ImageView<const Pixel> image, int32_t y) {
    for (int32_t j = -kCensusRadiusY; j <= kCensusRadiusY; ++j) {
      const int32_t clamped = lesser(greater(y + j, 0), image.height - 1);
      rows[j + kCensusRadiusY] = image.row(clamped);
    }
  }
  const Pixel* operator[](int32_t j) const { return rows[j + kCensusRadiusY]; }
};

/// One pixel at a time, for the columns whose window leaves the image.
template <class Pixel>
uint32_t censusAtBorder(const CensusRowWindow<Pixel>& window, int32_t width, int32_t x) {
  uint32_t bits = 0;
  for (int32_t i = 1; i <= kCensusRadiusX; ++i) {
    const int32_t right = lesser(x + i, width - 1);
    const int32_t left = greater(x - i, 0);
    for (int32_t j = -kCensusRadiusY; j <= kCensusRadiusY; ++j) {
      bits = bits << 1 | static_cast<uint32_t>(window[j][right] >= window[-j][left]);
    }
  }
  for (int32_t j = 1; j <= kCensusRadiusY; ++j) {
    bits = bits << 1 | static_cast<uint32_t>(window[j][x] >= window[-j][x]);
  }
  return bits;
}

/// kLanes pixels from x on, whose windows lie inside the image.
template <class Pixel>
void censusInside(const CensusRowWindow<Pixel>& window, int32_t x, uint32_t* out) {
  U8 byte[4] = {zeroU8(), zeroU8(), zeroU8(), zeroU8()};
  int32_t comparison = 1;  // bit 31 stays empty
  const auto append = [&](int32_t i, int32_t j) {
    U8& acc = byte[comparison++ >> 3];
    acc = sub(add(acc, acc), maskGreaterEqual(window[j] + x + i, window[-j] + x - i));
  };
#pragma GCC unroll 4
  for (int32_t i = 1; i <= kCensusRadiusX; ++i) {
#pragma GCC unroll 7
    for (int32_t j = -kCensusRadiusY; j <= kCensusRadiusY; ++j) append(i, j);
  }
#pragma GCC unroll 3
  for (int32_t j = 1; j <= kCensusRadiusY; ++j) append(0, j);
  storeInterleaved(out + x, byte[3], byte[2], byte[1], byte[0]);
}

template <class Pixel>
void censusRows(ImageView<const Pixel> image, ImageView<uint32_t> census, int32_t firstRow, int32_t endRow) {
  const int32_t width = image.width;
  const int32_t insideEnd = width - kCensusRadiusX;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const CensusRowWindow<Pixel> window(image, y);
    uint32_t* out = census.row(y);
    int32_t x = 0;
    for (; x < lesser(kCensusRadiusX, width); ++x) out[x] = censusAtBorder(window, width, x);
    if (insideEnd - x >= kLanes) {
      for (; x + kLanes <= insideEnd; x += kLanes) censusInside(window, x, out);
      if (x < insideEnd) censusInside(window, insideEnd - kLanes, out);  // overlaps the vector before it
      x = insideEnd;
    }
    for (; x < width; ++x) out[x] = censusAtBorder(window, width, x);
  }
}

}  // namespace
