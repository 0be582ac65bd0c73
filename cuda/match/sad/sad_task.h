// SPDX-License-Identifier: Apache-2.0
// What the settings of sad say to its stage, the same for every backend.
#pragma once

#include "../hsv_task.h"
#include "sad.h"

namespace depthwatt {

inline SadParameters sadParametersOf(const MatchTask& task) {
  SadParameters p;
  p.minDisparity = task.search.minDisparity;
  p.numDisparities = task.search.numDisparities;
  p.windowWidth = task.matcher.at("windowWidth");
  p.windowHeight = task.matcher.at("windowHeight");
  p.weights = hsvWeightsOf(task.matcher);
  p.subpixel = task.matcher.at("subpixel") != 0;
  return p;
}

}  // namespace depthwatt
