// SPDX-License-Identifier: Apache-2.0
// native.stages.boundary({variant, width, height, grey: Uint8Array, disparityQ4: Int16Array, result: Int16Array})
#include "boundary.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value boundary(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto grey = readImage<const uint8_t>(call, "grey");
  const auto in = readImage<const int16_t>(call, "disparityQ4");
  const auto out = readImage<int16_t>(call, "result");
  if (variant.isReference) boundaryReference(grey, in, out);
  else kernelsFor<BoundaryKernels>(variant.set).boundary(grey, in, out, 0, grey.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addBoundary(Napi::Env env, Napi::Object stages) {
  stages.Set("boundary", Napi::Function::New(env, boundary, "boundary"));
}

}  // namespace depthwatt
