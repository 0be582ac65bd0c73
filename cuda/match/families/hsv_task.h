// SPDX-License-Identifier: Apache-2.0
// Turns a matcher's weights into parameters of the stage hsv, for every backend.
#pragma once

#include "../hsv_pixel.h"
#include "../matcher.h"

namespace depthwatt {

inline HsvWeights hsvWeightsFrom(const MatcherChoice& choice) {
  HsvWeights weights;
  weights.hue = choice.at("hueWeight");
  weights.saturation = choice.at("saturationWeight");
  weights.value = choice.at("valueWeight");
  return weights;
}

}  // namespace depthwatt
