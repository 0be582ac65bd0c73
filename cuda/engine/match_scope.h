// SPDX-License-Identifier: Apache-2.0
// What is matched and refined: which part of the rectified images, at which size, and the settings in those pixels.
//   window            the whole images; with a region of interest its rows, and its columns with as many more to the left as the
//                     largest disparity (where the image has them), so that its left edge finds its partners in the right image;
//                     at half resolution from an even column and row on, so that its half pixels are those of the whole images;
//                     of a local matcher (MatcherFacts::reach) all that the region's results depend on, as far as that has a bound
//   full resolution   the window, and the settings as they are
//   half resolution   ceil(width / 2) x ceil(height / 2), and with h(v) = ceil(v / 2):
//                     the search [h(min), h(min + num)), so that no doubled disparity lies outside [min, min + num);
//                     disparity steps h(threshold), areas ceil(pixels / 4). Penalties and percentages stay as they are.
#pragma once

#include "backend.h"
#include "../prepare/half/half.h"
#include "../refine/repair/repair.h"

namespace depthwatt {

struct MatchScope {
  Region window;                  ///< of the rectified images
  int32_t width = 0, height = 0;  ///< of the images that are matched: the window's, or half of it
  MatchSearch search;             ///< in their pixels
  SpeckleParameters speckle;
  FillParameters fill;  ///< with lowestQ4 and highestQ4 of the search
};

/// How far the refinement of a pixel looks: confidence, boundary and median one after the other; the repair's passes along the rows.
/// What the speckle filter and filling look at has no bound.
constexpr int32_t kRoundReach = 4 + 1, kRefinedReach = 6 + kRoundReach, kRepairedReach = 2 * kRepairReach;

/// What a local matcher reads for the region's pixels, and those that refinement looks at.
inline Region reachedWindow(const EngineParameters& p) {
  const int32_t scale = p.halfResolution ? 2 : 1;
  MatchSearch search = p.search;
  if (p.halfResolution) {
    search.minDisparity = halfOf(p.search.minDisparity);
    search.numDisparities = halfOf(p.search.minDisparity + p.search.numDisparities) - search.minDisparity;
  }
  const MatchReach reach = p.matcher.facts->reach(p.matcher, search, p.leftRight);
  // At half resolution a pixel is the mean of three by three and doubled from two: one half pixel more.
  const int32_t more =
      kRefinedReach + (p.rounds - 1) * kRoundReach + (p.repair ? kRepairedReach : 0) + (p.halfResolution ? 1 : 0);
  const int32_t step = scale * reach.step;
  const auto from = [&](int32_t first, int32_t by) {
    return first > scale * by ? (first - scale * by) / step * step : 0;
  };
  const auto to = [&](int32_t end, int32_t by, int32_t size) {
    const int32_t reached = (end + scale * by + step - 1) / step * step;
    return reached < size ? reached : size;
  };
  Region window;
  window.x = from(p.region.x, reach.left + more);
  window.y = from(p.region.y, reach.rows + more);
  window.width = to(p.region.x + p.region.width, reach.right + more, p.width) - window.x;
  window.height = to(p.region.y + p.region.height, reach.rows + more, p.height) - window.y;
  return window;
}

/// Of parameters that Engine::open has accepted.
inline MatchScope matchScopeOf(const EngineParameters& parameters) {
  MatchScope scope;
  scope.window = {0, 0, parameters.width, parameters.height};
  if (parameters.region.width > 0) {
    const int32_t largest = parameters.search.minDisparity + parameters.search.numDisparities - 1;
    const int32_t end = parameters.region.x + parameters.region.width;
    scope.window = parameters.region;
    scope.window.x = parameters.region.x > largest ? parameters.region.x - largest : 0;
    scope.window.width = end - scope.window.x;
    if (parameters.matcher.facts->reach != nullptr) {
      scope.window = reachedWindow(parameters);
    } else if (parameters.halfResolution) {
      scope.window.width += scope.window.x % 2;
      scope.window.height += scope.window.y % 2;
      scope.window.x -= scope.window.x % 2;
      scope.window.y -= scope.window.y % 2;
    }
  }
  scope.width = scope.window.width;
  scope.height = scope.window.height;
  scope.search = parameters.search;
  scope.speckle = parameters.speckle;
  scope.fill = parameters.fill;
  if (parameters.halfResolution) {
    const int32_t end = parameters.search.minDisparity + parameters.search.numDisparities;
    scope.width = halfOf(scope.window.width);
    scope.height = halfOf(scope.window.height);
    scope.search.minDisparity = halfOf(parameters.search.minDisparity);
    scope.search.numDisparities = halfOf(end) - scope.search.minDisparity;
    scope.speckle.minPixels = halfOf(halfOf(parameters.speckle.minPixels));
    scope.speckle.rangeQ4 = halfOf(parameters.speckle.rangeQ4);
    scope.fill.thresholdQ4 = halfOf(parameters.fill.thresholdQ4);
  }
  scope.fill.lowestQ4 = 16 * scope.search.minDisparity;
  scope.fill.highestQ4 = 16 * (scope.search.minDisparity + scope.search.numDisparities - 1);
  return scope;
}

inline MatchTask matchTaskOf(const EngineParameters& parameters, const MatchScope& scope) {
  MatchTask task;
  task.width = scope.width;
  task.height = scope.height;
  task.search = scope.search;
  task.leftRight = parameters.leftRight;
  task.matcher = parameters.matcher;
  return task;
}

/// Whether the matcher reads an image's colours: 0 left, 1 right.
inline bool needsRgb(const EngineParameters& parameters, int side) {
  const ImagesNeeded images = parameters.matcher.facts->images;
  if (images == ImagesNeeded::kGreyAndLeftRgb) return side == 0 || parameters.leftRight;
  return images == ImagesNeeded::kGreyAndRgb;
}

/// Whether the left image's colours are read for the points.
inline bool needsPointColours(const EngineParameters& parameters) {
  return parameters.makesPoints && parameters.points.colours;
}

/// Whether an image's colours are computed, for the matcher or as a result.
inline bool computesRgb(const EngineParameters& p, int side) { return needsRgb(p, side) || (side == 0 && p.leftRgb); }

/// Whether a backend that makes points computes the left image's colours.
inline bool computesLeftRgb(const EngineParameters& p) { return computesRgb(p, 0) || needsPointColours(p); }

/// Bytes that are read of a captured image.
inline size_t inputBytes(const EngineParameters& p, int side) {
  return side == 0 ? sourceBytes(p.inputWidth, p.inputHeight, p.leftStrideBytes, p.leftFormat, computesLeftRgb(p))
                   : sourceBytes(p.inputWidth, p.inputHeight, p.rightStrideBytes, p.rightFormat, computesRgb(p, 1));
}

}  // namespace depthwatt
