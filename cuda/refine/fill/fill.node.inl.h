// SPDX-License-Identifier: Apache-2.0
// native.stages.fill({variant, threads?, width, height, method: "off" | "bilateral" | "background", thresholdQ4, lowestQ4,
//                    highestQ4, grey: Uint8Array, disparityQ4: Int16Array, confidence?: Uint8Array})
// The fast form is the same for every instruction set.
#include "fill.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

FillMethod readMethod(const Napi::Object& call) {
  FillMethod method = FillMethod::kOff;
  const std::string name = readString(call, "method");
  if (!fillMethodFrom(name.c_str(), &method)) {
    throw errorFrom(call.Env(),
                    Status::error(Code::kParameter, "Expected off, bilateral or background for method, got '%.40s'.",
                                  name.c_str()));
  }
  return method;
}

Napi::Value fill(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto grey = readImage<const uint8_t>(call, "grey");
  const auto disparityQ4 = readImage<int16_t>(call, "disparityQ4");
  // The stage's result is another image; here it replaces the input.
  std::vector<int16_t> given(static_cast<size_t>(disparityQ4.width) * disparityQ4.height);
  const ImageView<int16_t> before = packedView(given.data(), disparityQ4.width, disparityQ4.height);
  for (int32_t y = 0; y < before.height; ++y) std::copy_n(disparityQ4.row(y), before.width, before.row(y));
  const FillParameters parameters{readMethod(call), readInteger(call, "thresholdQ4", 0, 32767),
                                  readInteger(call, "lowestQ4", 0, 32767), readInteger(call, "highestQ4", 0, 32767)};
  const int32_t threads = readInteger(call, "threads", 1, 64, 1);
  ImageView<uint8_t> confidence;
  if (!call.Get("confidence").IsUndefined()) confidence = readImage<uint8_t>(call, "confidence");
  if (variant.isReference) {
    fillReference(parameters, grey, before.asConst(), disparityQ4, confidence);
    return Napi::String::New(info.Env(), variant.name());
  }
  static thread_local std::unique_ptr<Workers> workers;
  if (!workers || workers->count() != threads) workers = std::make_unique<Workers>(threads);
  fillHoles(parameters, grey, before.asConst(), disparityQ4, confidence, *workers);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addFill(Napi::Env env, Napi::Object stages) { stages.Set("fill", Napi::Function::New(env, fill, "fill")); }

}  // namespace depthwatt
