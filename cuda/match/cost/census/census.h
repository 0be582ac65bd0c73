// SPDX-License-Identifier: Apache-2.0
// Centre-symmetric census transform, 9 wide and 7 high, 31 bits.
//   CSCT(x, y) = (x)_{i=1..4} (x)_{j=-3..3} s(I(x+i, y+j), I(x-i, y-j))  (x)  (x)_{j=1..3} s(I(x, y+j), I(x, y-j))
//   s(u, v) = 1 if u >= v else 0, (x) = concatenation            (Hernandez-Juarez et al. 2016, eq. 1)
// in   image   [height][width] uint8 or uint16, any values
// out  census  [height][width] uint32, bit 31 = 0; the first comparison of the equation is bit 30, the last is bit 0
// edge border pixels are replicated.       ties: s(u, u) = 1, so a flat patch gives 0x7fffffff.
// same bits on every backend: integer only.
#pragma once

#include "../../../../core/image.h"

namespace depthwatt {

constexpr int32_t kCensusRadiusX = 4;
constexpr int32_t kCensusRadiusY = 3;
constexpr int32_t kCensusBits = 31;

/// The definition: scalar, written from the equation, never optimised. Pixel is uint8_t or uint16_t.
template <class Pixel>
void censusReference(ImageView<const Pixel> image, ImageView<uint32_t> census);

/// The fast form. Computes rows [firstRow, endRow) of the census; it reads the rows around them from the whole image.
template <class Pixel>
using CensusRows = void (*)(ImageView<const Pixel> image, ImageView<uint32_t> census, int32_t firstRow, int32_t endRow);
struct CensusKernels {
  CensusRows<uint8_t> census8;
  CensusRows<uint16_t> census16;
};

}  // namespace depthwatt
