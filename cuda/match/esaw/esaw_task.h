// SPDX-License-Identifier: Apache-2.0
// What ESAW's settings say to the room exponential, the same for every backend: costs are aggregated, not messages.
#pragma once

#include "../exponential/exponential.h"
#include "../matcher.h"

namespace depthwatt {

inline ExponentialParameters esawParametersOf(const MatchTask& task) {
  ExponentialParameters p;
  p.minDisparity = task.search.minDisparity;
  p.numDisparities = task.search.numDisparities;
  p.steps = task.matcher.at("steps");
  p.basePercent = task.matcher.at("basePercent");
  p.gammaColour = task.matcher.at("gammaColour");
  p.gammaDistance = task.matcher.at("gammaDistance");
  p.truncation = task.matcher.at("truncation");
  // lambda scales every cost alike and decides nothing: the finest unit that 16 bits hold.
  p.cost = 65535 / p.truncation;
  p.subpixel = task.matcher.at("subpixel") != 0;
  return p;
}

}  // namespace depthwatt
