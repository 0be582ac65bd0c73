// SPDX-License-Identifier: Apache-2.0
// Turns the settings of sgm into parameters of its stages, for every backend.
#pragma once

#include "../matcher.h"

namespace depthwatt {

/// The matching cost, in the order of the setting's values.
enum class MatchingCost { kTwoGradientCensus, kGradientCensus, kCensus, kWideCensus };

inline MatchingCost matchingCostFrom(const MatchTask& task) {
  return static_cast<MatchingCost>(task.matcher.at("cost"));
}

/// Returns whether the left-right check uses a match of the mirrored pair, whose left image is the right one.
inline bool hasOwnRightView(const MatchTask& task) { return task.leftRight && task.matcher.at("rightView") == 1; }

/// The value of the setting search, in the order of its values. The third is auto.
constexpr int32_t kFullSearch = 0, kCoarseToFine = 1;

/// Replaces `auto` with the search that is measured to be faster on the device (search_gains.h).
SearchChoice chooseSgmSearch(MatchTask* task, const MatchDevice& device);

inline bool searchesCoarseToFine(const MatchTask& task) { return task.matcher.at("search") == kCoarseToFine; }

inline SgmParameters sgmParametersFrom(const MatchTask& task) {
  SgmParameters p;
  p.minDisparity = task.search.minDisparity;
  p.numDisparities = task.search.numDisparities;
  p.paths = task.matcher.at("paths");
  p.p1 = task.matcher.at("p1");
  p.p2 = task.matcher.at("p2");
  p.adaptiveP2 = task.matcher.at("adaptiveP2");
  p.uniqueness = task.matcher.at("uniqueness");
  p.subpixel = task.matcher.at("subpixel") != 0;
  p.outsideCost = task.matcher.at("outsideCost");
  p.words = matchingCostFrom(task) == MatchingCost::kWideCensus ? 2 : 1;
  return p;
}

}  // namespace depthwatt
