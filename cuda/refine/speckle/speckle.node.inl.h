// SPDX-License-Identifier: Apache-2.0
// native.stages.speckle({variant, threads?, width, height, minPixels, rangeQ4, disparityQ4: Int16Array, confidence?: Uint8Array})
// The fast form is the same for every instruction set.
#include "speckle.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value speckle(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto disparityQ4 = readImage<int16_t>(call, "disparityQ4");
  const SpeckleParameters parameters{readInteger(call, "minPixels", 0, 1 << 30),
                                     readInteger(call, "rangeQ4", 0, 32767)};
  const int32_t threads = readInteger(call, "threads", 1, 64, 1);
  ImageView<uint8_t> confidence;
  if (!call.Get("confidence").IsUndefined()) {
    confidence = readImage<uint8_t>(call, "confidence", disparityQ4.width, disparityQ4.height,
                                    static_cast<size_t>(disparityQ4.width));
  }
  if (variant.isReference) {
    speckleReference(parameters, disparityQ4, confidence);
    return Napi::String::New(info.Env(), variant.name());
  }
  // Kept between calls, as in an engine: a benchmark must not time the creation of threads and memory.
  static thread_local std::vector<int32_t> scratch;
  static thread_local std::unique_ptr<Workers> workers;
  if (!workers || workers->count() != threads) workers = std::make_unique<Workers>(threads);
  scratch.resize(std::max(scratch.size(), speckleScratchWords(disparityQ4.width, disparityQ4.height)));
  speckleFilter(parameters, disparityQ4, confidence, scratch.data(), *workers);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addSpeckle(Napi::Env env, Napi::Object stages) {
  stages.Set("speckle", Napi::Function::New(env, speckle, "speckle"));
}

}  // namespace depthwatt
