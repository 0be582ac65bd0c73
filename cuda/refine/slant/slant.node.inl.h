// SPDX-License-Identifier: Apache-2.0
// native.stages.slant({variant, width, height, grey: Uint8Array, disparityQ4: Int16Array, result: Int16Array})
#include "slant.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value slant(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto grey = readImage<const uint8_t>(call, "grey");
  const auto in = readImage<const int16_t>(call, "disparityQ4");
  const auto out = readImage<int16_t>(call, "result");
  if (variant.isReference) slantReference(grey, in, out);
  else kernelsFor<SlantKernels>(variant.set).slant(grey, in, out, 0, grey.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addSlant(Napi::Env env, Napi::Object stages) { stages.Set("slant", Napi::Function::New(env, slant, "slant")); }

}  // namespace depthwatt
