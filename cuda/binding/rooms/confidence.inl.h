// SPDX-License-Identifier: Apache-2.0
// native.rooms.confidence({variant, width, height, grey: Uint8Array, disparityQ4: Int16Array, certainty: Uint8Array,
//   zeroIsEstimated?: boolean, sure: Uint8Array})
#include "../../refine/confidence/confidence.h"

#include "../../cpu/kernels.h"

namespace depthwatt {
namespace {

Napi::Value confidence(const Napi::CallbackInfo& info) {
  const auto call = info[0].As<Napi::Object>();
  const Kernels* kernels = kernelsOf(call);
  const auto grey = imageOf<const uint8_t>(call, "grey");
  const auto disparityQ4 = imageOf<const int16_t>(call, "disparityQ4");
  const auto certainty = imageOf<const uint8_t>(call, "certainty");
  const auto sure = imageOf<uint8_t>(call, "sure");
  const bool zeroIsEstimated = call.Get("zeroIsEstimated").ToBoolean();
  if (kernels == nullptr) confidenceReference(grey, disparityQ4, certainty, zeroIsEstimated, sure);
  else kernels->confidence(grey, disparityQ4, certainty, zeroIsEstimated, sure, 0, grey.height);
  return Napi::String::New(info.Env(), kernels == nullptr ? "reference" : nameOf(kernels->instructionSet));
}

}  // namespace

void addConfidence(Napi::Env env, Napi::Object rooms) {
  rooms.Set("confidence", Napi::Function::New(env, confidence, "confidence"));
}

}  // namespace depthwatt
