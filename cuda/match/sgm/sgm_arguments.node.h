// SPDX-License-Identifier: Apache-2.0
// Reads the arguments that sgm and select share.
#pragma once

#include "sgm.h"
#include "../../engine/binding/variant.h"

namespace depthwatt {

inline SgmParameters sgmParametersOf(const Napi::Object& call) {
  constexpr int32_t kAny = 1 << 20;  // the stage itself checks the ranges
  SgmParameters parameters;
  parameters.minDisparity = integerOf(call, "minDisparity", -kAny, kAny, parameters.minDisparity);
  parameters.numDisparities = integerOf(call, "numDisparities", -kAny, kAny);
  parameters.paths = integerOf(call, "paths", -kAny, kAny, parameters.paths);
  parameters.p1 = integerOf(call, "p1", -kAny, kAny, parameters.p1);
  parameters.p2 = integerOf(call, "p2", -kAny, kAny, parameters.p2);
  parameters.adaptiveP2 = integerOf(call, "adaptiveP2", -kAny, kAny, parameters.adaptiveP2);
  parameters.uniqueness = integerOf(call, "uniqueness", -kAny, kAny, parameters.uniqueness);
  parameters.outsideCost = integerOf(call, "outsideCost", -kAny, kAny, parameters.outsideCost);
  if (!call.Get("subpixel").IsUndefined()) parameters.subpixel = booleanOf(call, "subpixel");
  return parameters;
}

inline SgmResult sgmResultOf(const Napi::Object& call, int32_t width, int32_t height) {
  const auto row16 = static_cast<size_t>(width) * sizeof(int16_t);
  SgmResult result;
  result.disparityQ4 = imageOf<int16_t>(call, "disparityQ4", width, height, row16);
  result.disparity = imageOf<int16_t>(call, "disparity", width, height, row16);
  if (!call.Get("rightDisparity").IsUndefined()) {
    result.rightDisparity = imageOf<int16_t>(call, "rightDisparity", width, height, row16);
  }
  if (!call.Get("confidence").IsUndefined()) {
    result.confidence = imageOf<uint8_t>(call, "confidence", width, height, static_cast<size_t>(width));
  }
  return result;
}

}  // namespace depthwatt
