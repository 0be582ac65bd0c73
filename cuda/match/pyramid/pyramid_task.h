// SPDX-License-Identifier: Apache-2.0
// Turns the settings of pyramid into parameters of its stage, for every backend.
#pragma once

#include "../families/hsv_task.h"
#include "pyramid.h"

namespace depthwatt {

inline PyramidParameters pyramidParametersFrom(const MatchTask& task) {
  PyramidParameters p;
  p.minDisparity = task.search.minDisparity;
  p.numDisparities = task.search.numDisparities;
  p.windowWidth = task.matcher.at("windowWidth");
  p.windowHeight = task.matcher.at("windowHeight");
  p.levels = task.matcher.at("levels");
  p.peakRatio = task.matcher.at("peakRatio");
  p.subpixel = task.matcher.at("subpixel") != 0;
  return p;
}

}  // namespace depthwatt
