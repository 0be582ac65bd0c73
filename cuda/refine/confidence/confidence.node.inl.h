// SPDX-License-Identifier: Apache-2.0
// native.stages.confidence({variant, width, height, grey: Uint8Array, disparityQ4: Int16Array, certainty: Uint8Array,
//   zeroIsEstimated?: boolean, limit?: Uint8Array, sure: Uint8Array})
#include "confidence.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value confidence(const Napi::CallbackInfo& info) {
  const auto call = info[0].As<Napi::Object>();
  const Variant variant = readVariant(call);
  const auto grey = readImage<const uint8_t>(call, "grey");
  const auto disparityQ4 = readImage<const int16_t>(call, "disparityQ4");
  const auto certainty = readImage<const uint8_t>(call, "certainty");
  const auto sure = readImage<uint8_t>(call, "sure");
  const bool zeroIsEstimated = call.Get("zeroIsEstimated").ToBoolean();
  ImageView<const uint8_t> limit;
  if (!call.Get("limit").IsUndefined()) {
    const int32_t columns = blockColumnCount(grey.width);
    limit = readImage<const uint8_t>(call, "limit", columns, blockRowCount(grey.height), static_cast<size_t>(columns));
  }
  if (variant.isReference) confidenceReference(grey, disparityQ4, certainty, zeroIsEstimated, limit, sure);
  else
    kernelsFor<ConfidenceKernels>(variant.set)
        .confidence(grey, disparityQ4, certainty, zeroIsEstimated, limit, sure, 0, grey.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addConfidence(Napi::Env env, Napi::Object stages) {
  stages.Set("confidence", Napi::Function::New(env, confidence, "confidence"));
}

}  // namespace depthwatt
