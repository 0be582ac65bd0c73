// SPDX-License-Identifier: Apache-2.0
// Vector form of the two-gradient census; compiled once per instruction set.

#include "../census_rows.inl.h"
#include "two_gradient_census.h"

namespace {

struct TwoGradientCensus {
  static constexpr int32_t kRadiusX = kTwoGradientCensusRadius, kRadiusY = kTwoGradientCensusRadius;

  template <class Site>
  [[gnu::always_inline]] static void compare(Site& site) {
#pragma GCC unroll 2
    for (int32_t k = 1; k <= kTwoGradientCensusRadius; ++k) {
      site.compare(k, -k, -k, k);
      site.compare(k, 0, -k, 0);
      site.compare(k, k, -k, -k);
      site.compare(0, k, 0, -k);
    }
    site.gradient(1, 0, kHorizontalThresholds);
    site.gradient(0, 1, kVerticalThresholds);
  }
};

inline void twoGradientCensusRows(ImageView<const uint8_t> image, ImageView<uint32_t> census, int32_t firstRow,
                                  int32_t endRow) {
  writeCensusRows<TwoGradientCensus>(image, census, firstRow, endRow);
}

}  // namespace

DEPTHWATT_VECTOR_CODE(TwoGradientCensusKernels, twoGradientCensusRows)
