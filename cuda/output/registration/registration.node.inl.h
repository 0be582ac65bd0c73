// SPDX-License-Identifier: Apache-2.0
// native.stages.registration({variant, width, height, focalPixels, baselineMetres, disparityOffsetPixels, fill: boolean,
//                            disparityQ4: Int16Array, confidence: Uint8Array, millimetres: Uint16Array,
//                            registeredConfidence: Uint8Array, threads?},
//                            {width, height, matrix: Float64Array(12), grid?: Int32Array, gridX, gridY, gridWidth, gridHeight})
#include "registration.h"

#include <vector>

#include "../../../core/workers.h"
#include "../../engine/binding/session_options.h"
#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value registration(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  RegistrationParameters parameters;
  readRegistration(objectAt(info, 1, "the camera"), &parameters);
  parameters.focalPixels = readNumber(call, "focalPixels");
  parameters.baselineMetres = readNumber(call, "baselineMetres");
  parameters.disparityOffsetPixels = readNumber(call, "disparityOffsetPixels");
  parameters.fill = readBoolean(call, "fill");
  const auto disparityQ4 = readImage<const int16_t>(call, "disparityQ4");
  const auto confidence = readImage<const uint8_t>(call, "confidence");
  const size_t pixels = static_cast<size_t>(parameters.width) * static_cast<size_t>(parameters.height);
  const auto millimetres =
      packedView(readElements<uint16_t>(call, "millimetres", pixels), parameters.width, parameters.height);
  const auto sure =
      packedView(readElements<uint8_t>(call, "registeredConfidence", pixels), parameters.width, parameters.height);
  RegistrationPlan plan;
  throwUnlessOk(info.Env(), makeRegistrationPlan(parameters, disparityQ4.width, disparityQ4.height, &plan));
  if (variant.isReference) {
    registrationReference(plan, disparityQ4, confidence, millimetres, sure);
    return Napi::String::New(info.Env(), variant.name());
  }
  const RegistrationKernels& kernels = kernelsFor<RegistrationKernels>(variant.set);
  std::vector<uint32_t> buffer(bufferPixels(plan), kNoDepth), visible = buffer;
  Workers workers(readInteger(call, "threads", 1, 64, 1));
  workers.rows(disparityQ4.height, [&](int32_t first, int32_t end) {
    kernels.project(plan, disparityQ4, confidence, buffer.data(), first, end);
  });
  workers.rows(plan.outHeight,
               [&](int32_t first, int32_t end) { kernels.resolve(plan, buffer.data(), visible.data(), first, end); });
  workers.rows(plan.outHeight,
               [&](int32_t first, int32_t end) { kernels.write(plan, visible.data(), millimetres, sure, first, end); });
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addRegistration(Napi::Env env, Napi::Object stages) {
  stages.Set("registration", Napi::Function::New(env, registration, "registration"));
}

}  // namespace depthwatt
