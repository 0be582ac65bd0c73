// SPDX-License-Identifier: Apache-2.0
// Turns ESMP's settings into parameters of the stage exponential, for every backend. A cost of 1 is 20000 cells: lambda
// = 0.15, c = 1 and eta = 0.0375 d_m are then whole numbers of cells, and 17 grey values at lambda = 0.15 fit 16 bits.
#pragma once

#include "../exponential/exponential.h"
#include "../matcher.h"

namespace depthwatt {

constexpr int32_t kEsmpUnit = 20000;
constexpr int32_t kEsmpPerThousandth = kEsmpUnit / 1000;

inline ExponentialParameters esmpParametersFrom(const MatchTask& task) {
  ExponentialParameters p;
  p.minDisparity = task.search.minDisparity;
  p.numDisparities = task.search.numDisparities;
  p.steps = task.matcher.at("steps");
  p.basePercent = task.matcher.at("basePercent");
  p.gammaColour = task.matcher.at("gammaColour");
  p.colourDistance = task.matcher.at("colourDistance") == 0 ? ColourDistance::kRgb : ColourDistance::kLab;
  p.gammaDistance = task.matcher.at("gammaDistance");
  p.truncation = task.matcher.at("truncation");
  p.cost = kEsmpPerThousandth * task.matcher.at("lambdaThousandths");
  p.gradientTruncation = task.matcher.at("gradientTruncation");
  p.gradientCost = p.gradientTruncation > 0 ? p.cost * task.matcher.at("gradientPercent") / 100 : 0;
  p.slope = kEsmpPerThousandth * task.matcher.at("slopeThousandths");
  // d_m is the largest disparity counted from the smallest: one less than the number of disparities.
  const int64_t cap =
      int64_t{kEsmpUnit / 10000} * task.matcher.at("capTenThousandths") * (task.search.numDisparities - 1);
  p.cap = cap > 65535 ? 65535 : static_cast<int32_t>(cap);
  p.subpixel = task.matcher.at("subpixel") != 0;
  return p;
}

}  // namespace depthwatt
