// SPDX-License-Identifier: Apache-2.0
// What is matched and refined: the size of those images, and the settings in their own pixels.
//   full resolution   the rectified images, and the settings as they are
//   half resolution   ceil(width / 2) x ceil(height / 2), and with h(v) = ceil(v / 2):
//                     the search [h(min), h(min + num)), so that no doubled disparity lies outside [min, min + num);
//                     disparity steps h(threshold), areas ceil(pixels / 4). Penalties and percentages stay as they are.
#pragma once

#include "engine.h"
#include "match/half/half.h"

namespace depthwatt {

struct MatchScope {
  int32_t width = 0, height = 0;
  SgmParameters match;
  SpeckleParameters speckle;
  FillParameters fill;  ///< with lowestQ4 and highestQ4 of the search
};

/// Of parameters that Engine::open has accepted.
inline MatchScope matchScopeOf(const EngineParameters& parameters) {
  MatchScope scope;
  scope.width = parameters.width;
  scope.height = parameters.height;
  scope.match = parameters.match;
  scope.speckle = parameters.speckle;
  scope.fill = parameters.fill;
  if (parameters.halfResolution) {
    const int32_t end = parameters.match.minDisparity + parameters.match.numDisparities;
    scope.width = halfOf(parameters.width);
    scope.height = halfOf(parameters.height);
    scope.match.minDisparity = halfOf(parameters.match.minDisparity);
    scope.match.numDisparities = halfOf(end) - scope.match.minDisparity;
    scope.speckle.minPixels = halfOf(halfOf(parameters.speckle.minPixels));
    scope.speckle.rangeQ4 = halfOf(parameters.speckle.rangeQ4);
    scope.fill.thresholdQ4 = halfOf(parameters.fill.thresholdQ4);
  }
  scope.fill.lowestQ4 = 16 * scope.match.minDisparity;
  scope.fill.highestQ4 = 16 * (scope.match.minDisparity + scope.match.numDisparities - 1);
  return scope;
}

}  // namespace depthwatt
