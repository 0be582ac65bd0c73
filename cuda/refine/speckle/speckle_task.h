// SPDX-License-Identifier: Apache-2.0
// Turns the settings of the speckle filter into parameters, for both backends.
#pragma once

#include "../../stage.h"
#include "speckle.h"

namespace depthwatt {

inline SpeckleParameters speckleParametersFrom(const StageTask& task) {
  SpeckleParameters parameters;
  parameters.minPixels = task.at("refine.speckleSize");
  parameters.rangeQ4 = task.at("refine.speckleRange");
  return parameters;
}

}  // namespace depthwatt
