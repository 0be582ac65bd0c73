// SPDX-License-Identifier: Apache-2.0
// Vector form of the census transform; compiled once per instruction set.

#include "../census_rows.inl.h"
#include "census.h"

namespace {

struct Census {
  static constexpr int32_t kRadiusX = kCensusRadiusX, kRadiusY = kCensusRadiusY;

  template <class Site>
  [[gnu::always_inline]] static void compare(Site& site) {
    compareOpposite<kRadiusX, kRadiusY>(site);
  }
};

template <class Pixel>
void censusRows(ImageView<const Pixel> image, ImageView<uint32_t> census, int32_t firstRow, int32_t endRow) {
  writeCensusRows<Census>(image, census, firstRow, endRow);
}

}  // namespace

DEPTHWATT_VECTOR_CODE(CensusKernels, censusRows<uint8_t>, censusRows<uint16_t>)
