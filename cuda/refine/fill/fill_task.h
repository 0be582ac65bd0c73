// SPDX-License-Identifier: Apache-2.0
// The parameters of filling from its settings, the same for both backends.
#pragma once

#include "../../stage.h"
#include "fill.h"

namespace depthwatt {

/// The words of refine.fill, in their order.
inline FillMethod fillMethodOf(int32_t stored) {
  return stored == 0 ? FillMethod::kBackground : stored == 1 ? FillMethod::kBilateral : FillMethod::kOff;
}

inline FillParameters fillParametersOf(const StageTask& task) {
  FillParameters parameters;
  parameters.method = fillMethodOf(task.at("refine.fill"));
  parameters.thresholdQ4 = task.at("refine.fillThreshold");
  parameters.lowestQ4 = 16 * task.search.minDisparity;
  parameters.highestQ4 = 16 * (task.search.minDisparity + task.search.numDisparities - 1);
  return parameters;
}

}  // namespace depthwatt
