// SPDX-License-Identifier: Apache-2.0
// Depth from disparity: Z = focal * baseline / (disparity + offset), one IEEE division per pixel.
//   numerator = float(focalPixels * baselineMetres * 16 * 1000) (product in double, rounded once)
//   denominator = float(disparityQ4) + float(16 * disparityOffsetPixels)
//   zMillimetres = numerator / denominator in IEEE single precision, round to nearest even
// out  millimetres [height][width] uint16: floor(zMillimetres + 0.5f); 0 = invalid, denominator <= 0, or beyond 65535 (REP 118)
//      metres [height][width] float32: zMillimetres / 1000 as one more IEEE division; NaN = invalid or denominator <= 0
// Relies on: -ffp-contract=off and --fmad=false; no fast-math.   same bits on every backend: one written order of roundings.
#pragma once

#include "../../../core/image.h"
#include "../../geometry.h"

namespace depthwatt {

void depthMillimetresReference(const DepthGeometry& geometry, ImageView<const int16_t> disparityQ4,
                               ImageView<uint16_t> millimetres);
void depthMetresReference(const DepthGeometry& geometry, ImageView<const int16_t> disparityQ4, ImageView<float> metres);

using DepthMillimetresRows = void (*)(const DepthGeometry& geometry, ImageView<const int16_t> disparityQ4,
                                      ImageView<uint16_t> millimetres, int32_t firstRow, int32_t endRow);
using DepthMetresRows = void (*)(const DepthGeometry& geometry, ImageView<const int16_t> disparityQ4,
                                 ImageView<float> metres, int32_t firstRow, int32_t endRow);
struct DepthKernels {
  DepthMillimetresRows depthMillimetres;
  DepthMetresRows depthMetres;
};

}  // namespace depthwatt
