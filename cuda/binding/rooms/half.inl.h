// SPDX-License-Identifier: Apache-2.0
// native.rooms.half({variant, width, height, strideBytes?, image: Uint8Array, result: Uint8Array})
#include "../../match/half/half.h"

#include "../../cpu/kernels.h"

namespace depthwatt {
namespace {

Napi::Value half(const Napi::CallbackInfo& info) {
  const auto call = info[0].As<Napi::Object>();
  const Kernels* kernels = kernelsOf(call);
  const auto image = imageOf<const uint8_t>(call, "image");
  const int32_t width = halfOf(image.width);
  const auto result = imageOf<uint8_t>(call, "result", width, halfOf(image.height), static_cast<size_t>(width));
  if (kernels == nullptr) halfReference(image, result);
  else kernels->half(image, result, 0, result.height);
  return Napi::String::New(info.Env(), kernels == nullptr ? "reference" : nameOf(kernels->instructionSet));
}

}  // namespace

void addHalf(Napi::Env env, Napi::Object rooms) { rooms.Set("half", Napi::Function::New(env, half, "half")); }

}  // namespace depthwatt
