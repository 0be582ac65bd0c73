// SPDX-License-Identifier: Apache-2.0
// Reads the arguments that sgm and select share.
#pragma once

#include "sgm.h"
#include "../../engine/binding/variant.h"

namespace depthwatt {

inline SgmParameters sgmParametersFrom(const Napi::Object& call) {
  constexpr int32_t kAny = 1 << 20;  // the stage itself checks the ranges
  SgmParameters parameters;
  parameters.minDisparity = readInteger(call, "minDisparity", -kAny, kAny, parameters.minDisparity);
  parameters.numDisparities = readInteger(call, "numDisparities", -kAny, kAny);
  parameters.paths = readInteger(call, "paths", -kAny, kAny, parameters.paths);
  parameters.p1 = readInteger(call, "p1", -kAny, kAny, parameters.p1);
  parameters.p2 = readInteger(call, "p2", -kAny, kAny, parameters.p2);
  parameters.adaptiveP2 = readInteger(call, "adaptiveP2", -kAny, kAny, parameters.adaptiveP2);
  parameters.uniqueness = readInteger(call, "uniqueness", -kAny, kAny, parameters.uniqueness);
  parameters.outsideCost = readInteger(call, "outsideCost", -kAny, kAny, parameters.outsideCost);
  if (!call.Get("subpixel").IsUndefined()) parameters.subpixel = readBoolean(call, "subpixel");
  return parameters;
}

inline SgmResult readSgmResult(const Napi::Object& call, int32_t width, int32_t height) {
  const auto row16 = static_cast<size_t>(width) * sizeof(int16_t);
  SgmResult result;
  result.disparityQ4 = readImage<int16_t>(call, "disparityQ4", width, height, row16);
  result.disparity = readImage<int16_t>(call, "disparity", width, height, row16);
  if (!call.Get("rightDisparity").IsUndefined()) {
    result.rightDisparity = readImage<int16_t>(call, "rightDisparity", width, height, row16);
  }
  if (!call.Get("confidence").IsUndefined()) {
    result.confidence = readImage<uint8_t>(call, "confidence", width, height, static_cast<size_t>(width));
  }
  return result;
}

}  // namespace depthwatt
