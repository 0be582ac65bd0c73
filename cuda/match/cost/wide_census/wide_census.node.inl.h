// SPDX-License-Identifier: Apache-2.0
// native.stages.wideCensus({variant, width, height, strideBytes?, image: Uint8Array, first, second: Uint32Array})
#include "wide_census.h"

#include "../../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value wideCensus(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto image = readImage<const uint8_t>(call, "image");
  const size_t packed = static_cast<size_t>(image.width) * sizeof(uint32_t);
  const auto first = readImage<uint32_t>(call, "first", image.width, image.height, packed);
  const auto second = readImage<uint32_t>(call, "second", image.width, image.height, packed);
  if (variant.isReference) wideCensusReference(image, first, second);
  else kernelsFor<WideCensusKernels>(variant.set).wideCensus(image, first, second, 0, image.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addWideCensus(Napi::Env env, Napi::Object stages) {
  stages.Set("wideCensus", Napi::Function::New(env, wideCensus, "wideCensus"));
}

}  // namespace depthwatt
