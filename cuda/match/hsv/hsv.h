// SPDX-License-Identifier: Apache-2.0
// Hue, saturation and value, weighted, as integers                                        (Prehn 2007, sections 5.2 and 5.3)
//   V = max(R, G, B), c = V - min(R, G, B), S = 255 c / V (0 where V = 0), hue h in [0, 6): (G - B) / c where R is the largest,
//   else 2 + (B - R) / c where G is, else 4 + (R - G) / c; h + 6 where h < 0; 0 where c = 0
//   value       v = round(k V / 100),   valueLow = v >> 1, valueHigh = v - valueLow; saturation the same from S
//   hue         a square whose rim is 256 grey values long, side = round(64 k / 100); t = 4 h / 6, f = round(64 k frac(t) / 100):
//               (f, 0), (side, f), (side - f, side), (0, side - f) where floor(t) = 0, 1, 2, 3
//   with k = units x the channel's weight in percent, units = hsvUnits(weights) in a grey value, round = half up
// The sum of |a - b| over the six bytes of two pixels is then the weighted difference of eq. 5.1 in units, with hue
// measured around the circle. It is exact except between opposite sides of the square.
// in rgb [height][width][3] uint8    out [height][width] HsvPixel    border: none    same bits on every backend: integer only
#pragma once

#include "../../../core/image.h"
#include "../hsv_pixel.h"

namespace depthwatt {

void hsvReference(const HsvWeights& weights, ImageView<const Rgb8> rgb, ImageView<HsvPixel> out);

/// Computes rows [firstRow, endRow).
using HsvRows = void (*)(const HsvWeights& weights, ImageView<const Rgb8> rgb, ImageView<HsvPixel> out,
                         int32_t firstRow, int32_t endRow);
struct HsvKernels {
  HsvRows hsv;
};

}  // namespace depthwatt
