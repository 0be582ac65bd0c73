// SPDX-License-Identifier: Apache-2.0
// native.stages.registration({variant, width, height, focalPixels, baselineMetres, disparityOffsetPixels, fill: boolean,
//                            disparityQ4: Int16Array, confidence: Uint8Array, millimetres: Uint16Array,
//                            registeredConfidence: Uint8Array, threads?, pixels?: Uint8Array (grey or rgb8), points?: Uint8Array,
//                            pointBytes?},
//                            {width, height, matrix: Float64Array(12), grid?: Int32Array, gridX, gridY, gridWidth, gridHeight})
#include "registration.h"

#include <vector>

#include "../../../core/workers.h"
#include "../../engine/binding/session_options.h"
#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

/// The colours of points, if the call has pixels.
struct ColourCall {
  RegisteredImages images;
  uint8_t* points = nullptr;
  size_t pointBytes = 0;
};

ColourCall readColours(const Napi::Object& call, const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4,
                       ImageView<const uint16_t> millimetres, ImageView<const uint8_t> confidence) {
  ColourCall colours;
  if (call.Get("pixels").IsUndefined()) return colours;
  const size_t pixels = static_cast<size_t>(plan.outWidth) * static_cast<size_t>(plan.outHeight);
  const Napi::Value value = call.Get("pixels");
  const bool rgb = value.IsTypedArray() && value.As<Napi::TypedArray>().ByteLength() == 3 * pixels;
  const auto* bytes = readElements<const uint8_t>(call, "pixels", rgb ? 3 * pixels : pixels);
  colours.images = {millimetres, confidence, {}, {}};
  if (rgb) colours.images.rgb = packedView(reinterpret_cast<const Rgb8*>(bytes), plan.outWidth, plan.outHeight);
  else colours.images.grey = packedView(bytes, plan.outWidth, plan.outHeight);
  colours.pointBytes = static_cast<size_t>(readInteger(call, "pointBytes", 4, 64));
  colours.points = readElements<uint8_t>(
      call, "points",
      static_cast<size_t>(disparityQ4.width) * static_cast<size_t>(disparityQ4.height) * colours.pointBytes);
  return colours;
}

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
  const ColourCall colours = readColours(call, plan, disparityQ4, millimetres.asConst(), sure.asConst());
  if (variant.isReference) {
    registrationReference(plan, disparityQ4, confidence, millimetres, sure);
    if (colours.points != nullptr)
      registeredColoursReference(plan, disparityQ4, colours.images, colours.points, colours.pointBytes);
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
  if (colours.points != nullptr) {
    workers.rows(disparityQ4.height, [&](int32_t first, int32_t end) {
      kernels.colour(plan, disparityQ4, colours.images, colours.points, colours.pointBytes, first, end);
    });
  }
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addRegistration(Napi::Env env, Napi::Object stages) {
  stages.Set("registration", Napi::Function::New(env, registration, "registration"));
}

}  // namespace depthwatt
