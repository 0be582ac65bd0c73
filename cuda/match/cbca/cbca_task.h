// SPDX-License-Identifier: Apache-2.0
// Turns the settings of cbca into parameters of cross-based aggregation and of the matcher's other steps, for every
// backend: Chang and Maruyama with the choices of decision 0040.
#pragma once

#include "../matcher.h"
#include "cross.h"

namespace depthwatt {

/// Default longest arm and grey difference of a region, chosen on the development scenes (decision 0040). The paper has
/// arms of 41 x 61 at full and 21 x 31 at half resolution (section V), and 13 for both.
constexpr int32_t kCbcaArm = 9, kCbcaArmAtHalf = 3;
constexpr int32_t kCbcaSimilarity = 13, kCbcaSimilarityAtHalf = 30;

/// T: the largest difference that bilateral estimation bridges, in pixels.
constexpr int32_t kCbcaThreshold = 3;

inline CrossParameters crossParametersFrom(const MatchTask& task) {
  CrossParameters p;
  p.minDisparity = task.search.minDisparity;
  p.numDisparities = task.search.numDisparities;
  p.armX = task.matcher.at("armX");
  p.armY = task.matcher.at("armY");
  p.similarity = task.matcher.at("similarity");
  p.armXRight = task.matcher.at("armXRight");
  p.armYRight = task.matcher.at("armYRight");
  p.lambdaDifference = task.matcher.at("lambdaDifference");
  p.differenceScale = task.matcher.at("lambdaUnit") == 0 ? kFullScale : kGreyLevel;
  p.lambdaCensus = task.matcher.at("lambdaCensus");
  return p;
}

inline int32_t cbcaThresholdQ4From(const MatchTask& task) { return 16 * task.matcher.at("threshold"); }

/// Finds the ground control points of two images' winners: both agree exactly (eq. 10).
void groundControlPointsReference(ImageView<const int16_t> whole, ImageView<const int16_t> rightWhole,
                                  ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence);

/// Runs the whole matcher from the references of its stages.
void cbcaReference(const CrossParameters& cross, int32_t thresholdQ4, ImageView<const uint8_t> left,
                   ImageView<const uint8_t> right, ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence);

}  // namespace depthwatt
