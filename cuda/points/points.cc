// SPDX-License-Identifier: Apache-2.0
// What the fast form of points keeps from frame to frame; see points.h.
#include "points.h"

namespace depthwatt {

PointsPlan pointsPlanOf(const PointsParameters& parameters, int32_t width) {
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

}  // namespace depthwatt
