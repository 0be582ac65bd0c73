// SPDX-License-Identifier: Apache-2.0
// native.stages.half({variant, width, height, strideBytes?, image: Uint8Array, result: Uint8Array})
// The same with `colours: true`: both images of packed rows of three bytes a pixel.
#include "half.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value halfColours(const Napi::Object& call, const Variant& variant) {
  const int32_t width = readInteger(call, "width", 1, 32768), height = readInteger(call, "height", 1, 32768);
  const auto colours = [&](auto* data, int32_t w, int32_t h) { return packedView(data, w, h); };
  const auto in = readImage<const uint8_t>(call, "image", 3 * width, height, 3 * static_cast<size_t>(width));
  const int32_t w = halfSide(width), h = halfSide(height);
  const auto out = readImage<uint8_t>(call, "result", 3 * w, h, 3 * static_cast<size_t>(w));
  const auto from = colours(reinterpret_cast<const Rgb8*>(in.data), width, height);
  const auto to = colours(reinterpret_cast<Rgb8*>(out.data), w, h);
  if (variant.isReference) halfRgbReference(from, to);
  else kernelsFor<HalfKernels>(variant.set).halfRgb(from, to, 0, h);
  return Napi::String::New(call.Env(), variant.name());
}

Napi::Value half(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  if (!call.Get("colours").IsUndefined()) return halfColours(call, variant);
  const auto image = readImage<const uint8_t>(call, "image");
  const int32_t width = halfSide(image.width);
  const auto result = readImage<uint8_t>(call, "result", width, halfSide(image.height), static_cast<size_t>(width));
  if (variant.isReference) halfReference(image, result);
  else kernelsFor<HalfKernels>(variant.set).half(image, result, 0, result.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addHalf(Napi::Env env, Napi::Object stages) { stages.Set("half", Napi::Function::New(env, half, "half")); }

}  // namespace depthwatt
