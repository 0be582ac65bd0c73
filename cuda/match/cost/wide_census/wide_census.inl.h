// SPDX-License-Identifier: Apache-2.0
// Vector form of the wide census; compiled once per instruction set.

#include "../census_rows.inl.h"
#include "wide_census.h"

namespace {

/// The first word: the twelve neighbours before the centre, row by row, and the horizontal gradient.
struct WideCensusFirst {
  static constexpr int32_t kRadiusX = kWideCensusRadius, kRadiusY = kWideCensusRadius;

  template <class Site>
  [[gnu::always_inline]] static void compare(Site& site) {
#pragma GCC unroll 2
    for (int32_t j = -2; j <= -1; ++j) {
#pragma GCC unroll 5
      for (int32_t i = -2; i <= 2; ++i) site.compare(i, j, 0, 0);
    }
    site.compare(-2, 0, 0, 0);
    site.compare(-1, 0, 0, 0);
    site.gradient(1, 0, kWideThresholds);
  }
};

/// The second word: the twelve neighbours after the centre, row by row, and the vertical gradient.
struct WideCensusSecond {
  static constexpr int32_t kRadiusX = kWideCensusRadius, kRadiusY = kWideCensusRadius;

  template <class Site>
  [[gnu::always_inline]] static void compare(Site& site) {
    site.compare(1, 0, 0, 0);
    site.compare(2, 0, 0, 0);
#pragma GCC unroll 2
    for (int32_t j = 1; j <= 2; ++j) {
#pragma GCC unroll 5
      for (int32_t i = -2; i <= 2; ++i) site.compare(i, j, 0, 0);
    }
    site.gradient(0, 1, kWideThresholds);
  }
};

inline void wideCensusRows(ImageView<const uint8_t> image, ImageView<uint32_t> first, ImageView<uint32_t> second,
                           int32_t firstRow, int32_t endRow) {
  for (int32_t y = firstRow; y < endRow; ++y) {
    const CensusWindow<uint8_t, kWideCensusRadius> window(image, y);
    censusRow<WideCensusFirst>(window, image.width, first.row(y));
    censusRow<WideCensusSecond>(window, image.width, second.row(y));
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(WideCensusKernels, wideCensusRows)
