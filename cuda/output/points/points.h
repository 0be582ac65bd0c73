// SPDX-License-Identifier: Apache-2.0
// Computes a point in space for every pixel of the left image, with its grey or its colour.
//   z0  = numerator / (float(disparityQ4) + float(16 disparityOffsetPixels))      millimetres, as in depth/depth.h
//   Z   = z0 for kI16, z0 / 1000 for kF32
//   u   = float((x - cx) / focalPixels),  v = float((y - cy) / focalPixels),  w = float((cy - y) / focalPixels)
//   kCamera  (u Z, v Z, Z)                 x right, y down, z ahead; origin in the left camera       [triangulation, eq. 2.5]
//   kRobot   (Z, float(B / 2) - u Z, w Z)  x ahead, y left, z up; origin in the middle of the baseline
//                                          [Prehn 2007, section 2.1.1: eq. 2.3, 2.5 and 2.6]
// numerator = float(focalPixels * baselineMetres * 16 * 1000), B in metres for kF32 and in millimetres for kI16. The
// argument of float(...) is computed in double and rounded once; every other operation is one IEEE single operation in
// the order written.
// in   disparityQ4 [height][width] int16; grey [height][width] uint8; rgb [height][width] Rgb8 where colours are asked for
// out  points [height][width], packed, little-endian:
//      kF32         16 bytes: x, y, z float32 metres; blue, green, red, 255 (grey: three times the grey)
//      kI16, grey    8 bytes: x, y, z int16 millimetres, floor(value + 0.5f); grey, 0
//      kI16, colours 10 bytes: x, y, z int16 millimetres; blue, green, red, 255
//      Invalid disparity, or a denominator of 0 or less: x, y, z = NaN (0x7fc00000), or -32768. kI16: the same where one of the
//      three is outside -32767 to 32767. The colour is always set.
// edge none: pixels are independent.   Relies on -ffp-contract=off.   same bits on every backend.
#pragma once

#include <vector>

#include "../../../core/image.h"
#include "../../geometry.h"

namespace depthwatt {

constexpr int16_t kNoPoint = -32768;

struct PointsImages {
  ImageView<const int16_t> disparityQ4;
  ImageView<const uint8_t> grey;
  ImageView<const Rgb8> rgb;  ///< used only if colours are requested
};

/// The definition. @param points width * height * pointBytes()
void pointsReference(const PointsParameters& parameters, const PointsImages& images, uint8_t* points);

/// Precomputed data of all rows, for one width.
struct PointsPlan {
  PointsParameters parameters;
  float numerator = 0, offsetQ4 = 0, halfBaseline = 0;
  std::vector<float> columns;  ///< u by x
};
inline PointsPlan makePointsPlan(const PointsParameters& parameters, int32_t width) {
  PointsPlan plan;
  plan.parameters = parameters;
  plan.numerator = static_cast<float>(parameters.focalPixels * parameters.baselineMetres * 16.0 * 1000.0);
  plan.offsetQ4 = static_cast<float>(16.0 * parameters.disparityOffsetPixels);
  plan.halfBaseline =
      static_cast<float>(parameters.baselineMetres * (parameters.element == PointElement::kF32 ? 0.5 : 500.0));
  plan.columns.resize(static_cast<size_t>(width));
  for (int32_t x = 0; x < width; ++x) {
    plan.columns[static_cast<size_t>(x)] = static_cast<float>((x - parameters.cx) / parameters.focalPixels);
  }
  return plan;
}

/// The fast form. Computes rows [firstRow, endRow).
using PointsRows = void (*)(const PointsPlan& plan, const PointsImages& images, uint8_t* points, int32_t firstRow,
                            int32_t endRow);
struct PointsKernels {
  PointsRows points;
};

}  // namespace depthwatt
