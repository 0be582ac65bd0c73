// SPDX-License-Identifier: Apache-2.0
// 31 bits per pixel whose Hamming distance is a centre-symmetric census plus bounded differences of both gradients.
//   census      8 bits: s(I(p + v), I(p - v)) for k = 1..2 and v = (k,-k), (k,0), (k,k), (0,k)     (Hernandez-Juarez et al. 2016, eq. 1)
//   horizontal  12 bits: s(g, t), g = I(x+1, y) - I(x-1, y), t = kHorizontalThresholds[k], rising
//   vertical    11 bits: s(h, t), h = I(x, y+1) - I(x, y-1), t = kVerticalThresholds[k], rising
//   s(u, v) = 1 if u >= v else 0
// The distance of a gradient's bits is the number of thresholds between the two gradients: an absolute difference, fine
// near 0, coarse beyond, at most 12 and 11. Every matcher that takes a 31-bit census takes this one, and no cost
// exceeds 31.
// in   image   [height][width] uint8
// out  census  [height][width] uint32, bit 31 = 0; the first comparison is bit 30, the last vertical threshold bit 0
// edge border pixels are replicated.       ties: s(u, u) = 1.       same bits on every backend: integer only.
#pragma once

#include "../../../../core/image.h"

namespace depthwatt {

constexpr int32_t kTwoGradientCensusRadius = 2;
constexpr int32_t kHorizontalBits = 12, kVerticalBits = 11;
constexpr int16_t kHorizontalThresholds[kHorizontalBits] = {-16, -13, -9, -6, -3, -1, 1, 3, 6, 9, 13, 16};
constexpr int16_t kVerticalThresholds[kVerticalBits] = {-16, -13, -8, -5, -2, 0, 2, 5, 8, 13, 16};

/// The definition: scalar, written from the equations, never optimised.
void twoGradientCensusReference(ImageView<const uint8_t> image, ImageView<uint32_t> census);

/// The fast form. Computes rows [firstRow, endRow) of the census; it reads the rows around them from the whole image.
using TwoGradientCensusRows = void (*)(ImageView<const uint8_t> image, ImageView<uint32_t> census, int32_t firstRow,
                                       int32_t endRow);
struct TwoGradientCensusKernels {
  TwoGradientCensusRows twoGradientCensus;
};

}  // namespace depthwatt
