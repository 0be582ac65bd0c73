// SPDX-License-Identifier: Apache-2.0
// native.stages.upscale({variant, width, height, thresholdQ4, grey: Uint8Array, half: Int16Array, result: Int16Array})
#include "upscale.h"

#include "../../engine/binding/variant.h"
#include "../../prepare/half/half.h"

namespace depthwatt {
namespace {

Napi::Value upscale(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const int32_t thresholdQ4 = readInteger(call, "thresholdQ4", 0, 32767);
  const auto grey = readImage<const uint8_t>(call, "grey");
  const auto result = readImage<int16_t>(call, "result", grey.width, grey.height, static_cast<size_t>(grey.width) * 2);
  const int32_t width = halfSide(grey.width);
  const auto half =
      readImage<const int16_t>(call, "half", width, halfSide(grey.height), static_cast<size_t>(width) * 2);
  if (variant.isReference) upscaleReference(thresholdQ4, grey, half, result);
  else kernelsFor<UpscaleKernels>(variant.set).upscale(thresholdQ4, grey, half, result, 0, result.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addUpscale(Napi::Env env, Napi::Object stages) {
  stages.Set("upscale", Napi::Function::New(env, upscale, "upscale"));
}

}  // namespace depthwatt
