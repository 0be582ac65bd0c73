// SPDX-License-Identifier: Apache-2.0
// 31 bits per pixel whose Hamming distance is a small census plus a bounded difference of horizontal gradients.
//   census    12 bits: s(I(x+i, y+j), I(x-i, y-j)) for i = 1..2, j = -2..2, then s(I(x, y+j), I(x, y-j)) for j = 1..2
//             (Hernandez-Juarez et al. 2016, eq. 1, on 5 x 5 pixels)
//   gradient  19 bits: s(g, t_k), g = I(x+1, y) - I(x-1, y), t_k = kGradientThresholds[k], rising
//   s(u, v) = 1 if u >= v else 0
// The Hamming distance of these 19 bits is the number of thresholds between the two gradients: an absolute difference,
// fine near 0, coarse beyond, at most 19. Every matcher that takes a 31-bit census takes this one, and no cost exceeds
// 31.
// in   image   [height][width] uint8
// out  census  [height][width] uint32, bit 31 = 0; the first comparison is bit 30, the last threshold bit 0
// edge border pixels are replicated.       ties: s(u, u) = 1.       same bits on every backend: integer only.
#pragma once

#include "../../../../core/image.h"

namespace depthwatt {

constexpr int32_t kGradientCensusRadius = 2;
constexpr int32_t kGradientBits = 19;
constexpr int16_t kGradientThresholds[kGradientBits] = {-17, -15, -13, -10, -8, -6, -4, -2, -1, 0,
                                                        1,   2,   4,   6,   8,  10, 13, 15, 17};

/// The definition: scalar, written from the equations, never optimised.
void gradientCensusReference(ImageView<const uint8_t> image, ImageView<uint32_t> census);

/// The fast form. Computes rows [firstRow, endRow) of the census; it reads the rows around them from the whole image.
using GradientCensusRows = void (*)(ImageView<const uint8_t> image, ImageView<uint32_t> census, int32_t firstRow,
                                    int32_t endRow);
struct GradientCensusKernels {
  GradientCensusRows gradientCensus;
};

}  // namespace depthwatt
