// SPDX-License-Identifier: Apache-2.0
// Reads the arguments that sad and pyramid share: threads?, width, height, minDisparity, numDisparities, windowWidth,
// windowHeight, subpixel, left, right (Uint8Array of eight bytes a pixel, from hsv), disparityQ4, disparity,
// rightDisparity (Int16Array), confidence (Uint8Array).
#pragma once

#include <memory>

#include "../../match/window.h"
#include "variant.h"

namespace depthwatt {

inline ImageView<const HsvPixel> readHsvImage(const Napi::Object& call, const char* name, int32_t width,
                                              int32_t height) {
  const auto bytes = readImage<const uint8_t>(call, name, 8 * width, height, 8 * static_cast<size_t>(width));
  return packedView(reinterpret_cast<const HsvPixel*>(bytes.data), width, height);
}

inline void readWindow(const Napi::Object& call, WindowParameters& p) {
  const auto number = [&](const char* name) { return readInteger(call, name, -kAnyInt, kAnyInt); };
  p.minDisparity = number("minDisparity");
  p.numDisparities = number("numDisparities");
  p.windowWidth = number("windowWidth");
  p.windowHeight = number("windowHeight");
  p.subpixel = readBoolean(call, "subpixel");
}

/// Runs the requested variant. Stage is Sad or Pyramid.
template <class Stage, class Parameters>
Napi::Value runWindow(const Napi::CallbackInfo& info, const Parameters& p,
                      void (*reference)(const Parameters&, const WindowImages&, const WindowResult&)) {
  const auto call = info[0].As<Napi::Object>();
  const int32_t width = readInteger(call, "width", 1, 16384), height = readInteger(call, "height", 1, 16384);
  const WindowImages images{readHsvImage(call, "left", width, height), readHsvImage(call, "right", width, height)};
  const WindowResult result{readImage<int16_t>(call, "disparityQ4"), readImage<int16_t>(call, "disparity"),
                            readImage<int16_t>(call, "rightDisparity"), readImage<uint8_t>(call, "confidence")};
  const Variant variant = readVariant(call);
  if (variant.isReference) {
    reference(p, images, result);
    return Napi::String::New(info.Env(), variant.name());
  }
  Workers workers(readInteger(call, "threads", 1, 64, 1));
  Stage* opened = nullptr;
  throwUnlessOk(info.Env(), Stage::open(p, width, height, true, variant.set, workers, &opened));
  const std::unique_ptr<Stage> fast(opened);
  fast->compute(images, result);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace depthwatt
