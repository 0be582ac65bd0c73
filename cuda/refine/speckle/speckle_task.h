// SPDX-License-Identifier: Apache-2.0
// The speckle filter's parameters from its settings, the same for both backends.
#pragma once

#include "../../stage.h"
#include "speckle.h"

namespace depthwatt {

inline SpeckleParameters speckleParametersOf(const StageTask& task) {
  SpeckleParameters parameters;
  parameters.minPixels = task.at("refine.speckleSize");
  parameters.rangeQ4 = task.at("refine.speckleRange");
  return parameters;
}

}  // namespace depthwatt
