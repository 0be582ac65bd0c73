// SPDX-License-Identifier: Apache-2.0
// Turns the settings of filling into parameters, for both backends.
#pragma once

#include "../../stage.h"
#include "fill.h"

namespace depthwatt {

/// Returns the method from refine.fill's stored value, in the order of its values.
inline FillMethod fillMethodFrom(int32_t stored) {
  return stored == 0 ? FillMethod::kBackground : stored == 1 ? FillMethod::kBilateral : FillMethod::kOff;
}

inline FillParameters fillParametersFrom(const StageTask& task) {
  FillParameters parameters;
  parameters.method = fillMethodFrom(task.at("refine.fill"));
  parameters.thresholdQ4 = task.at("refine.fillThreshold");
  parameters.lowestQ4 = 16 * task.search.minDisparity;
  parameters.highestQ4 = 16 * (task.search.minDisparity + task.search.numDisparities - 1);
  return parameters;
}

}  // namespace depthwatt
