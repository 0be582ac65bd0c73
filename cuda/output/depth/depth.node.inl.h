// SPDX-License-Identifier: Apache-2.0
// native.stages.depth({variant, width, height, focalPixels, baselineMetres, disparityOffsetPixels, disparityQ4: Int16Array,
//                     depth: Uint16Array (millimetres) | Float32Array (metres)})
#include "depth.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value depth(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto disparityQ4 = readImage<const int16_t>(call, "disparityQ4");
  const DepthGeometry geometry{readNumber(call, "focalPixels"), readNumber(call, "baselineMetres"),
                               readNumber(call, "disparityOffsetPixels")};
  const bool metres = call.Get("depth").IsTypedArray() &&
                      call.Get("depth").As<Napi::TypedArray>().TypedArrayType() == napi_float32_array;
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  if (metres) {
    const auto out = readImage<float>(call, "depth", width, height, static_cast<size_t>(width) * sizeof(float));
    if (variant.isReference) depthMetresReference(geometry, disparityQ4, out);
    else kernelsFor<DepthKernels>(variant.set).depthMetres(geometry, disparityQ4, out, 0, height);
  } else {
    const auto out = readImage<uint16_t>(call, "depth", width, height, static_cast<size_t>(width) * sizeof(uint16_t));
    if (variant.isReference) depthMillimetresReference(geometry, disparityQ4, out);
    else kernelsFor<DepthKernels>(variant.set).depthMillimetres(geometry, disparityQ4, out, 0, height);
  }
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addDepth(Napi::Env env, Napi::Object stages) { stages.Set("depth", Napi::Function::New(env, depth, "depth")); }

}  // namespace depthwatt
