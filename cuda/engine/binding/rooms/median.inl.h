// SPDX-License-Identifier: Apache-2.0
// native.rooms.median({variant, width, height, strideBytes?, disparityQ4: Int16Array, result: Int16Array})
#include "../../../refine/median/median.h"

#include "../../../simd/kernels.h"

namespace depthwatt {
namespace {

Napi::Value median(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Kernels* kernels = kernelsOf(call);
  const auto in = imageOf<const int16_t>(call, "disparityQ4");
  const auto out = imageOf<int16_t>(call, "result");
  if (kernels == nullptr) medianReference(in, out);
  else kernels->median(in, out, 0, in.height);
  return Napi::String::New(info.Env(), kernels == nullptr ? "reference" : nameOf(kernels->instructionSet));
}

}  // namespace

void addMedian(Napi::Env env, Napi::Object rooms) { rooms.Set("median", Napi::Function::New(env, median, "median")); }

}  // namespace depthwatt
