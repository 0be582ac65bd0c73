// SPDX-License-Identifier: Apache-2.0
// Turns the settings of sad into parameters of its stage, for every backend.
#pragma once

#include "../families/hsv_task.h"
#include "sad.h"

namespace depthwatt {

inline SadParameters sadParametersFrom(const MatchTask& task) {
  SadParameters p;
  p.minDisparity = task.search.minDisparity;
  p.numDisparities = task.search.numDisparities;
  p.windowWidth = task.matcher.at("windowWidth");
  p.windowHeight = task.matcher.at("windowHeight");
  p.weights = hsvWeightsFrom(task.matcher);
  p.subpixel = task.matcher.at("subpixel") != 0;
  return p;
}

}  // namespace depthwatt
