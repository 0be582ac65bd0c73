// SPDX-License-Identifier: Apache-2.0
// 62 bits per pixel in two words, whose Hamming distance is a census against the centre plus bounded differences of both gradients.
//   census    24 bits: s(I(q), I(p)) for the 5 x 5 pixels q around p but p, row by row; the first 12 in the first word  (Zabih and Woodfill 1994)
//   gradient  19 bits each: s(g, t_k), t_k = kWideThresholds[k], rising; g = I(x+1, y) - I(x-1, y) in the first word,
//             g = I(x, y+1) - I(x, y-1) in the second
//   s(u, v) = 1 if u >= v else 0
// The distance of a gradient's bits is the number of thresholds between the two gradients: an absolute difference, at most 19.
// in   image          [height][width] uint8
// out  first, second  [height][width] uint32, bit 31 = 0; the first comparison is bit 30, the last threshold bit 0
// edge border pixels are replicated.       ties: s(u, u) = 1.       same bits on every backend: integer only.
#pragma once

#include "../../../../core/image.h"

namespace depthwatt {

constexpr int32_t kWideCensusRadius = 2;
constexpr int32_t kWideGradientBits = 19;
constexpr int16_t kWideThresholds[kWideGradientBits] = {-17, -15, -13, -10, -8, -6, -4, -2, -1, 0,
                                                        1,   2,   4,   6,   8,  10, 13, 15, 17};

/// The definition: scalar, written from the equations, never optimised.
void wideCensusReference(ImageView<const uint8_t> image, ImageView<uint32_t> first, ImageView<uint32_t> second);

/// The fast form. Computes rows [firstRow, endRow) of both words; it reads the rows around them from the whole image.
using WideCensusRows = void (*)(ImageView<const uint8_t> image, ImageView<uint32_t> first, ImageView<uint32_t> second,
                                int32_t firstRow, int32_t endRow);
struct WideCensusKernels {
  WideCensusRows wideCensus;
};

}  // namespace depthwatt
