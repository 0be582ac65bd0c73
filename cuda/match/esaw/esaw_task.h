// SPDX-License-Identifier: Apache-2.0
// Turns ESAW's settings into parameters of the stage exponential, for every backend: it aggregates costs, not messages.
#pragma once

#include "../exponential/exponential.h"
#include "../matcher.h"

namespace depthwatt {

inline ExponentialParameters esawParametersFrom(const MatchTask& task) {
  ExponentialParameters p;
  p.minDisparity = task.search.minDisparity;
  p.numDisparities = task.search.numDisparities;
  p.steps = task.matcher.at("steps");
  p.basePercent = task.matcher.at("basePercent");
  p.gammaColour = task.matcher.at("gammaColour");
  p.colourDistance = task.matcher.at("colourDistance") == 0 ? ColourDistance::kRgb : ColourDistance::kLab;
  p.gammaDistance = task.matcher.at("gammaDistance");
  p.truncation = task.matcher.at("truncation");
  p.gradientTruncation = task.matcher.at("gradientTruncation");
  // lambda scales every cost alike and has no effect on the result, so use the finest unit that 16 bits hold.
  const int32_t percent = p.gradientTruncation > 0 ? task.matcher.at("gradientPercent") : 0;
  p.cost = 6553500 / (100 * p.truncation + percent * p.gradientTruncation);
  p.gradientCost = p.cost * percent / 100;
  p.subpixel = task.matcher.at("subpixel") != 0;
  return p;
}

}  // namespace depthwatt
