// SPDX-License-Identifier: Apache-2.0
// Vector form of the gradient census; compiled once per instruction set.

#include "../census_rows.inl.h"
#include "gradient_census.h"

namespace {

struct GradientCensus {
  static constexpr int32_t kRadiusX = kGradientCensusRadius, kRadiusY = kGradientCensusRadius;

  template <class Site>
  [[gnu::always_inline]] static void compare(Site& site) {
    compareOpposite<kRadiusX, kRadiusY>(site);
    site.gradient(1, 0, kGradientThresholds);
  }
};

inline void gradientCensusRows(ImageView<const uint8_t> image, ImageView<uint32_t> census, int32_t firstRow,
                               int32_t endRow) {
  writeCensusRows<GradientCensus>(image, census, firstRow, endRow);
}

}  // namespace

DEPTHWATT_VECTOR_CODE(GradientCensusKernels, gradientCensusRows)
