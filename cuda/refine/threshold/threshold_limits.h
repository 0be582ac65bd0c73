// SPDX-License-Identifier: Apache-2.0
// Computes the threshold's parameters from settings, and the limits of the fast forms, for both backends.
#pragma once

#include <cmath>
#include <limits>

#include "../../stage.h"
#include "threshold.h"

namespace depthwatt {

/// refine.minConfidence, depth.minMetres and depth.maxMetres are stored in thousandths.
inline ThresholdParameters thresholdParametersFrom(const EngineParameters& p) {
  ThresholdParameters parameters;
  parameters.minConfidence = (p.at("refine.minConfidence") * 255 + 999) / 1000;
  parameters.minMillimetres = p.at("depth.minMetres");
  parameters.maxMillimetres = p.at("depth.maxMetres");
  parameters.focalPixels = p.geometry.focalPixels;
  parameters.baselineMetres = p.geometry.baselineMetres;
  parameters.disparityOffsetPixels = p.geometry.disparityOffsetPixels;
  return parameters;
}

/// More disparity is never farther, so a binary search turns the depth limits into disparities.
inline ThresholdLimits thresholdLimitsFrom(const ThresholdParameters& p) {
  constexpr int32_t kLowest = kInvalidDisparity + 1, kEnd = 32767;
  const auto numerator = static_cast<float>(p.focalPixels * p.baselineMetres * 16.0 * 1000.0);
  const auto offsetQ4 = static_cast<float>(16.0 * p.disparityOffsetPixels);
  const auto millimetres = [&](int32_t disparityQ4) {
    const float denominator = static_cast<float>(disparityQ4) + offsetQ4;
    return denominator > 0 ? std::floor(numerator / denominator + 0.5f) : std::numeric_limits<float>::infinity();
  };
  /// Returns the first disparity whose depth is at most, or below, the limit; kEnd if there is none.
  const auto first = [&](auto&& isNear) {
    int32_t low = kLowest, end = kEnd;
    while (low < end) {
      const int32_t middle = low + (end - low) / 2;
      if (isNear(millimetres(middle))) end = middle;
      else low = middle + 1;
    }
    return low;
  };
  const auto farthest = static_cast<float>(p.maxMillimetres), nearest = static_cast<float>(p.minMillimetres);
  const int32_t lowest = p.maxMillimetres == 0 ? kLowest : first([&](float depth) { return depth <= farthest; });
  const int32_t tooNear = p.minMillimetres == 0 ? kEnd : first([&](float depth) { return depth < nearest; });
  return {static_cast<uint8_t>(p.minConfidence), static_cast<int16_t>(lowest), static_cast<int16_t>(tooNear - 1)};
}

}  // namespace depthwatt
