// SPDX-License-Identifier: Apache-2.0
// The definition of the threshold; see threshold.h.
#include "threshold.h"

#include <cmath>

namespace depthwatt {
namespace {

/// Returns kDropCauses if the pixel is kept.
DropCause dropCause(const ThresholdParameters& p, int16_t disparityQ4, uint8_t confidence) {
  if (p.minConfidence > 0 && confidence == 0) return kDroppedFilled;
  if (confidence < p.minConfidence) return kDroppedUnsure;
  if (p.minMillimetres == 0 && p.maxMillimetres == 0) return kDropCauses;
  const float numerator = static_cast<float>(p.focalPixels * p.baselineMetres * 16.0 * 1000.0);
  const float denominator = static_cast<float>(disparityQ4) + static_cast<float>(16.0 * p.disparityOffsetPixels);
  const bool infinite = denominator <= 0;
  const float millimetres = infinite ? 0 : std::floor(numerator / denominator + 0.5f);
  if (!infinite && p.minMillimetres > 0 && millimetres < static_cast<float>(p.minMillimetres)) return kDroppedNear;
  if (p.maxMillimetres > 0 && (infinite || millimetres > static_cast<float>(p.maxMillimetres))) return kDroppedFar;
  return kDropCauses;
}

}  // namespace

void thresholdReference(const ThresholdParameters& parameters, ImageView<int16_t> disparityQ4,
                        ImageView<uint8_t> confidence, int32_t dropped[kDropCauses]) {
  for (int32_t y = 0; y < disparityQ4.height; ++y) {
    for (int32_t x = 0; x < disparityQ4.width; ++x) {
      int16_t& disparity = disparityQ4.row(y)[x];
      if (disparity == kInvalidDisparity) continue;
      const DropCause cause = dropCause(parameters, disparity, confidence.row(y)[x]);
      if (cause == kDropCauses) continue;
      ++dropped[cause];
      disparity = kInvalidDisparity;
      confidence.row(y)[x] = 0;
    }
  }
}

}  // namespace depthwatt
