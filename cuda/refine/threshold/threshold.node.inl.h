// SPDX-License-Identifier: Apache-2.0
// native.stages.threshold({variant, width, height, minConfidence (0 to 255), minMillimetres, maxMillimetres, focalPixels,
//                         baselineMetres, disparityOffsetPixels, disparityQ4: Int16Array, confidence: Uint8Array,
//                         dropped: Int32Array (filled, low confidence, too near, too far)})
#include "threshold.h"

#include "../../engine/binding/variant.h"
#include "threshold_limits.h"

namespace depthwatt {
namespace {

Napi::Value threshold(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto disparityQ4 = readImage<int16_t>(call, "disparityQ4");
  const auto confidence = readImage<uint8_t>(call, "confidence");
  const auto dropped = readImage<int32_t>(call, "dropped", kDropCauses, 1, kDropCauses * sizeof(int32_t));
  ThresholdParameters p;
  p.minConfidence = readInteger(call, "minConfidence", 0, 255);
  p.minMillimetres = readInteger(call, "minMillimetres", 0, 1000000);
  p.maxMillimetres = readInteger(call, "maxMillimetres", 0, 1000000);
  p.focalPixels = readNumber(call, "focalPixels");
  p.baselineMetres = readNumber(call, "baselineMetres");
  p.disparityOffsetPixels = readNumber(call, "disparityOffsetPixels");
  if (variant.isReference) {
    thresholdReference(p, disparityQ4, confidence, dropped.data);
  } else {
    kernelsFor<ThresholdKernels>(variant.set)
        .threshold(thresholdLimitsFrom(p), disparityQ4, confidence, dropped.data, 0, disparityQ4.height);
  }
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addThreshold(Napi::Env env, Napi::Object stages) {
  stages.Set("threshold", Napi::Function::New(env, threshold, "threshold"));
}

}  // namespace depthwatt
