// SPDX-License-Identifier: Apache-2.0
// native.stages.hsv({variant, width, height, hue, saturation, value, rgb: Uint8Array, result: Uint8Array of eight bytes a pixel})
#include "hsv.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

HsvWeights hsvWeightsFrom(const Napi::Object& call) {
  HsvWeights weights;
  weights.hue = readInteger(call, "hue", 0, 100);
  weights.saturation = readInteger(call, "saturation", 0, 100);
  weights.value = readInteger(call, "value", 0, 100);
  return weights;
}

ImageView<const Rgb8> readRgbImage(const Napi::Object& call, const char* name, int32_t width, int32_t height) {
  const auto bytes = readImage<const uint8_t>(call, name, 3 * width, height, 3 * static_cast<size_t>(width));
  return packedView(reinterpret_cast<const Rgb8*>(bytes.data), width, height);
}

Napi::Value hsv(const Napi::CallbackInfo& info) {
  const auto call = info[0].As<Napi::Object>();
  const Variant variant = readVariant(call);
  const int32_t width = readInteger(call, "width", 1, 16384), height = readInteger(call, "height", 1, 16384);
  const HsvWeights weights = hsvWeightsFrom(call);
  const ImageView<const Rgb8> rgb = readRgbImage(call, "rgb", width, height);
  const auto bytes = readImage<uint8_t>(call, "result", 8 * width, height, 8 * static_cast<size_t>(width));
  const auto out = packedView(reinterpret_cast<HsvPixel*>(bytes.data), width, height);
  if (variant.isReference) hsvReference(weights, rgb, out);
  else kernelsFor<HsvKernels>(variant.set).hsv(weights, rgb, out, 0, height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addHsv(Napi::Env env, Napi::Object stages) { stages.Set("hsv", Napi::Function::New(env, hsv, "hsv")); }

}  // namespace depthwatt
