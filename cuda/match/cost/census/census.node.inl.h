// SPDX-License-Identifier: Apache-2.0
// native.stages.census({variant, width, height, strideBytes?, image: Uint8Array | Uint16Array, census: Uint32Array})
#include "census.h"

#include "../../../engine/binding/variant.h"

namespace depthwatt {
namespace {

template <class Pixel>
void compute(const Napi::Object& call, const Variant& variant, CensusRows<Pixel> CensusKernels::* rows) {
  const auto image = readImage<const Pixel>(call, "image");
  const auto census = readImage<uint32_t>(call, "census", image.width, image.height,
                                          static_cast<size_t>(image.width) * sizeof(uint32_t));
  if (variant.isReference) censusReference<Pixel>(image, census);
  else (kernelsFor<CensusKernels>(variant.set).*rows)(image, census, 0, image.height);
}

Napi::Value census(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const bool wide = call.Get("image").IsTypedArray() &&
                    call.Get("image").As<Napi::TypedArray>().TypedArrayType() == napi_uint16_array;
  if (wide) compute<uint16_t>(call, variant, &CensusKernels::census16);
  else compute<uint8_t>(call, variant, &CensusKernels::census8);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addCensus(Napi::Env env, Napi::Object stages) { stages.Set("census", Napi::Function::New(env, census, "census")); }

}  // namespace depthwatt
