// SPDX-License-Identifier: Apache-2.0
// Vector code that all census variants share; compiled once per instruction set.
//
// A variant is a descriptor: a struct with kRadiusX and kRadiusY, the reach of its window, and a static compare(site), which
// calls site.compare and site.gradient for all 31 bits, highest first. Both sites give the same bits: CensusAtBorder computes
// one pixel whose window leaves the image, CensusInside computes kLanes pixels whose windows lie inside.

#pragma once

#include "../../../core/image.h"

namespace {

/// Rows y - kRadius to y + kRadius, replicated at the top and bottom.
template <class Pixel, int32_t kRadius>
struct CensusWindow {
  const Pixel* rows[2 * kRadius + 1];

  CensusWindow(ImageView<const Pixel> image, int32_t y) {
    for (int32_t j = -kRadius; j <= kRadius; ++j)
      rows[j + kRadius] = image.row(lesser(greater(y + j, 0), image.height - 1));
  }
  const Pixel* operator[](int32_t j) const { return rows[j + kRadius]; }
};

/// One pixel at column x. Columns outside the image are replicated.
template <class Window>
struct CensusAtBorder {
  const Window& window;
  int32_t width, x;
  uint32_t bits = 0;

  CensusAtBorder(const Window& rows, int32_t imageWidth, int32_t column) : window(rows), width(imageWidth), x(column) {}
  int32_t at(int32_t i, int32_t j) const { return window[j][i > 0 ? lesser(x + i, width - 1) : greater(x + i, 0)]; }
  void append(bool bit) { bits = bits << 1 | static_cast<uint32_t>(bit); }

  /// Appends the bit I(x + i, y + j) >= I(x + k, y + l).
  void compare(int32_t i, int32_t j, int32_t k, int32_t l) { append(at(i, j) >= at(k, l)); }
  /// Appends the bits I(x + i, y + j) - I(x - i, y - j) >= t for each threshold t.
  template <int32_t kCount>
  void gradient(int32_t i, int32_t j, const int16_t (&thresholds)[kCount]) {
    const int32_t difference = at(i, j) - at(-i, -j);
    for (const int16_t threshold : thresholds) append(difference >= threshold);
  }
};

/// kLanes pixels from column x on. A comparison gives a byte of all ones or zeros per pixel. Shifting these into a
/// byte, acc = 2 acc - mask, collects eight comparisons; four such bytes, interleaved, are the 32 bits of each pixel.
/// The first byte takes seven comparisons, so that the last comparison is in bit 0 and bit 31 is 0.
template <class Window>
struct CensusInside {
  const Window& window;
  int32_t x;
  U8 byte[4] = {zeroU8(), zeroU8(), zeroU8(), zeroU8()};
  int32_t comparison = 1;

  [[gnu::always_inline]] CensusInside(const Window& rows, int32_t column) : window(rows), x(column) {}
  [[gnu::always_inline]] void append(U8 mask) {
    U8& acc = byte[comparison++ >> 3];
    acc = sub(add(acc, acc), mask);
  }

  [[gnu::always_inline]] void compare(int32_t i, int32_t j, int32_t k, int32_t l) {
    append(maskGreaterEqual(window[j] + x + i, window[l] + x + k));
  }
  /// A signed gradient does not fit a byte. Its rise and its fall, each clamped at 0, do: g >= t equals rise >= t where
  /// t > 0, and -t >= fall elsewhere.
  template <int32_t kCount>
  [[gnu::always_inline]] void gradient(int32_t i, int32_t j, const int16_t (&thresholds)[kCount]) {
    const U8 ahead = loadU8(window[j] + x + i), behind = loadU8(window[-j] + x - i);
    const U8 rise = subSaturatedU8(ahead, behind), fall = subSaturatedU8(behind, ahead);
#pragma GCC unroll 31
    for (int32_t k = 0; k < kCount; ++k) {
      const int32_t threshold = thresholds[k];
      if (threshold > 0) append(maskGreaterEqualU8(rise, splatU8(static_cast<uint8_t>(threshold))));
      else append(maskGreaterEqualU8(splatU8(static_cast<uint8_t>(-threshold)), fall));
    }
  }
  [[gnu::always_inline]] void store(uint32_t* out) const {
    storeInterleaved(out + x, byte[3], byte[2], byte[1], byte[0]);
  }
};

/// Compares pixels that are opposite each other around the centre: columns 1 to kRadiusX from left to right, then the
/// centre's column (Hernandez-Juarez et al. 2016, eq. 1).
template <int32_t kRadiusX, int32_t kRadiusY, class Site>
[[gnu::always_inline]] inline void compareOpposite(Site& site) {
#pragma GCC unroll 4
  for (int32_t i = 1; i <= kRadiusX; ++i) {
#pragma GCC unroll 7
    for (int32_t j = -kRadiusY; j <= kRadiusY; ++j) site.compare(i, j, -i, -j);
  }
#pragma GCC unroll 3
  for (int32_t j = 1; j <= kRadiusY; ++j) site.compare(0, j, 0, -j);
}

/// Computes one row of the descriptor's 31 bits.
template <class Descriptor, class Window>
void censusRow(const Window& window, int32_t width, uint32_t* out) {
  const auto atBorder = [&](int32_t x) {
    CensusAtBorder<Window> site(window, width, x);
    Descriptor::compare(site);
    out[x] = site.bits;
  };
  const auto inside = [&](int32_t x) {
    CensusInside<Window> site(window, x);
    Descriptor::compare(site);
    site.store(out);
  };
  const int32_t insideEnd = width - Descriptor::kRadiusX;
  int32_t x = 0;
  for (; x < lesser(Descriptor::kRadiusX, width); ++x) atBorder(x);
  if (insideEnd - x >= kLanes) {
    for (; x + kLanes <= insideEnd; x += kLanes) inside(x);
    if (x < insideEnd) inside(insideEnd - kLanes);  // overlaps the previous vector
    x = insideEnd;
  }
  for (; x < width; ++x) atBorder(x);
}

/// Computes rows [firstRow, endRow) of the descriptor's 31 bits.
template <class Descriptor, class Pixel>
void writeCensusRows(ImageView<const Pixel> image, ImageView<uint32_t> census, int32_t firstRow, int32_t endRow) {
  for (int32_t y = firstRow; y < endRow; ++y) {
    censusRow<Descriptor>(CensusWindow<Pixel, Descriptor::kRadiusY>(image, y), image.width, census.row(y));
  }
}

}  // namespace
