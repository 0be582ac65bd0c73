// SPDX-License-Identifier: Apache-2.0
// native.stages.median({variant, width, height, strideBytes?, disparityQ4: Int16Array, result: Int16Array})
#include "median.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value median(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto in = readImage<const int16_t>(call, "disparityQ4");
  const auto out = readImage<int16_t>(call, "result");
  if (variant.isReference) medianReference(in, out);
  else kernelsFor<MedianKernels>(variant.set).median(in, out, 0, in.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addMedian(Napi::Env env, Napi::Object stages) { stages.Set("median", Napi::Function::New(env, median, "median")); }

}  // namespace depthwatt
