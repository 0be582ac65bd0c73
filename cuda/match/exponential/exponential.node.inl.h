// SPDX-License-Identifier: Apache-2.0
// native.stages.exponential({variant, threads?, width, height, minDisparity, numDisparities, steps, basePercent, gammaColour,
//                           gammaDistance, colourDistance?: 0 RGB, 1 CIELab, truncation, cost, gradientTruncation?, gradientCost?, slope, cap,
//                           subpixel, left, right, leftRgb: Uint8Array,
//                           disparityQ4, disparity, rightDisparity: Int16Array, confidence: Uint8Array})
#include "exponential.h"

#include <memory>

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value exponential(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto number = [&](const char* name) { return readInteger(call, name, -kAnyInt, kAnyInt); };
  ExponentialParameters p;
  p.minDisparity = number("minDisparity");
  p.numDisparities = number("numDisparities");
  p.steps = number("steps");
  p.basePercent = number("basePercent");
  p.gammaColour = number("gammaColour");
  p.gammaDistance = number("gammaDistance");
  p.colourDistance = static_cast<ColourDistance>(readInteger(call, "colourDistance", 0, 1, 0));
  p.truncation = number("truncation");
  p.cost = number("cost");
  p.gradientTruncation = readInteger(call, "gradientTruncation", -kAnyInt, kAnyInt, 0);
  p.gradientCost = readInteger(call, "gradientCost", -kAnyInt, kAnyInt, 0);
  p.slope = number("slope");
  p.cap = number("cap");
  p.subpixel = readBoolean(call, "subpixel");
  throwUnlessOk(info.Env(), checkExponentialParameters(p));
  const auto left = readImage<const uint8_t>(call, "left");
  const size_t rgbBytes = 3 * static_cast<size_t>(left.width);
  const auto rgb = readImage<const uint8_t>(call, "leftRgb", 3 * left.width, left.height, rgbBytes);
  const ExponentialImages images{left, readImage<const uint8_t>(call, "right"),
                                 packedView(reinterpret_cast<const Rgb8*>(rgb.data), left.width, left.height)};
  const ExponentialResult result{readImage<int16_t>(call, "disparityQ4"), readImage<int16_t>(call, "disparity"),
                                 readImage<int16_t>(call, "rightDisparity"), readImage<uint8_t>(call, "confidence")};
  if (variant.isReference) {
    exponentialReference(p, images, result);
    return Napi::String::New(info.Env(), variant.name());
  }
  Workers workers(readInteger(call, "threads", 1, 64, 1));
  Exponential* opened = nullptr;
  throwUnlessOk(info.Env(), Exponential::open(p, left.width, left.height, variant.set, workers, &opened));
  const std::unique_ptr<Exponential> fast(opened);
  fast->compute(images, result);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addExponential(Napi::Env env, Napi::Object stages) {
  stages.Set("exponential", Napi::Function::New(env, exponential, "exponential"));
}

}  // namespace depthwatt
