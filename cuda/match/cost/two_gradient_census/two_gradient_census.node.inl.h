// SPDX-License-Identifier: Apache-2.0
// native.stages.twoGradientCensus({variant, width, height, strideBytes?, image: Uint8Array, census: Uint32Array})
#include "two_gradient_census.h"

#include "../../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value twoGradientCensus(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto image = readImage<const uint8_t>(call, "image");
  const auto census = readImage<uint32_t>(call, "census", image.width, image.height,
                                          static_cast<size_t>(image.width) * sizeof(uint32_t));
  if (variant.isReference) twoGradientCensusReference(image, census);
  else kernelsFor<TwoGradientCensusKernels>(variant.set).twoGradientCensus(image, census, 0, image.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addTwoGradientCensus(Napi::Env env, Napi::Object stages) {
  stages.Set("twoGradientCensus", Napi::Function::New(env, twoGradientCensus, "twoGradientCensus"));
}

}  // namespace depthwatt
