// SPDX-License-Identifier: Apache-2.0
// native.stages.gradientCensus({variant, width, height, strideBytes?, image: Uint8Array, census: Uint32Array})
#include "gradient_census.h"

#include "../../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value gradientCensus(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto image = readImage<const uint8_t>(call, "image");
  const auto census = readImage<uint32_t>(call, "census", image.width, image.height,
                                          static_cast<size_t>(image.width) * sizeof(uint32_t));
  if (variant.isReference) gradientCensusReference(image, census);
  else kernelsFor<GradientCensusKernels>(variant.set).gradientCensus(image, census, 0, image.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addGradientCensus(Napi::Env env, Napi::Object stages) {
  stages.Set("gradientCensus", Napi::Function::New(env, gradientCensus, "gradientCensus"));
}

}  // namespace depthwatt
