// SPDX-License-Identifier: Apache-2.0
// What a matcher's task says to cross-based aggregation, the same for every backend, and what the matcher as a whole adds to it:
// Chang and Maruyama with what decision 0040 fixes.
#pragma once

#include "../matcher.h"
#include "cross.h"

namespace depthwatt {

/// Longest arm and grey difference of one region, by the scenes for tuning (decision 0040). The paper has arms of 41 x 61 at full
/// and 21 x 31 at half resolution (section V), and 13 for both.
constexpr int32_t kCbcaArm = 9, kCbcaArmAtHalf = 3;
constexpr int32_t kCbcaSimilarity = 13, kCbcaSimilarityAtHalf = 30;

/// T: largest difference that bilateral estimation bridges, pixels.
constexpr int32_t kCbcaThreshold = 3;

inline CrossParameters crossParametersOf(const MatchTask& task) {
  CrossParameters p;
  p.minDisparity = task.search.minDisparity;
  p.numDisparities = task.search.numDisparities;
  p.armX = task.matcher.at("armX");
  p.armY = task.matcher.at("armY");
  p.similarity = task.matcher.at("similarity");
  p.armXRight = task.matcher.at("armXRight");
  p.armYRight = task.matcher.at("armYRight");
  p.lambdaDifference = task.matcher.at("lambdaDifference");
  p.lambdaCensus = task.matcher.at("lambdaCensus");
  return p;
}

inline int32_t cbcaThresholdQ4Of(const MatchTask& task) { return 16 * task.matcher.at("threshold"); }

/// Ground control points of two images' winners: both agree exactly (eq. 10).
void groundControlPointsReference(ImageView<const int16_t> whole, ImageView<const int16_t> rightWhole,
                                  ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence);

/// The whole matcher, composed of its stages' references.
void cbcaReference(const CrossParameters& cross, int32_t thresholdQ4, ImageView<const uint8_t> left,
                   ImageView<const uint8_t> right, ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence);

}  // namespace depthwatt
