// SPDX-License-Identifier: Apache-2.0
// native.stages.windowConfidence({variant, width, height, measure: string, left: Uint8Array, right: Uint8Array,
//   disparityQ4: Int16Array, certainty: Uint8Array, zeroIsEstimated?: boolean, sure: Uint8Array})
#include "window_confidence.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value windowConfidence(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  ConfidenceMeasure measure = ConfidenceMeasure::kPeakRatio;
  const std::string name = readString(call, "measure");
  if (!findConfidenceMeasure(name.c_str(), &measure)) {
    throwUnlessOk(info.Env(),
                  Status::error(Code::kParameter, "Expected the name of a measure, got '%.40s'.", name.c_str()));
  }
  const WindowConfidenceImages images{readImage<const uint8_t>(call, "left"), readImage<const uint8_t>(call, "right"),
                                      readImage<const int16_t>(call, "disparityQ4"),
                                      readImage<const uint8_t>(call, "certainty"),
                                      call.Get("zeroIsEstimated").ToBoolean()};
  const auto sure = readImage<uint8_t>(call, "sure");
  if (variant.isReference) windowConfidenceReference(measure, images, sure);
  else kernelsFor<WindowConfidenceKernels>(variant.set).windowConfidence(measure, images, sure, 0, sure.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addWindowConfidence(Napi::Env env, Napi::Object stages) {
  stages.Set("windowConfidence", Napi::Function::New(env, windowConfidence, "windowConfidence"));
}

}  // namespace depthwatt
