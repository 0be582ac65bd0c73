// SPDX-License-Identifier: Apache-2.0
// native.stages.ambiguity({variant, width, height, left, right: Uint8Array, disparityQ4: Int16Array, limit: Uint8Array,
// parts?: number}). @param parts computes the vector forms in this many parts of rows
#include "ambiguity.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value ambiguity(const Napi::CallbackInfo& info) {
  const auto call = info[0].As<Napi::Object>();
  const Variant variant = readVariant(call);
  const AmbiguityImages images{readImage<const uint8_t>(call, "left"), readImage<const uint8_t>(call, "right"),
                               readImage<const int16_t>(call, "disparityQ4")};
  const int32_t columns = blockColumnCount(images.left.width), rows = blockRowCount(images.left.height);
  const auto limit = readImage<uint8_t>(call, "limit", columns, rows, static_cast<size_t>(columns));
  const int32_t parts = readInteger(call, "parts", 1, rows, 1);
  if (variant.isReference) ambiguityReference(images, limit);
  for (int32_t i = 0; !variant.isReference && i < parts; ++i) {
    kernelsFor<AmbiguityKernels>(variant.set).ambiguity(images, limit, rows * i / parts, rows * (i + 1) / parts);
  }
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addAmbiguity(Napi::Env env, Napi::Object stages) {
  stages.Set("ambiguity", Napi::Function::New(env, ambiguity, "ambiguity"));
}

}  // namespace depthwatt
