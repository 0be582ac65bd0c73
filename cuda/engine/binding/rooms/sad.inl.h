// SPDX-License-Identifier: Apache-2.0
// native.rooms.sad({variant, threads?, width, height, minDisparity, numDisparities, windowWidth, windowHeight, hue, saturation, value,
//                   subpixel, left, right: Uint8Array of eight bytes a pixel, as hsv gives them,
//                   disparityQ4, disparity, rightDisparity: Int16Array, confidence: Uint8Array})
#include "../../../match/sad/sad.h"

#include <memory>

#include "../../../simd/kernels.h"

namespace depthwatt {
namespace {

Napi::Value sad(const Napi::CallbackInfo& info) {
  const auto call = info[0].As<Napi::Object>();
  const Kernels* kernels = kernelsOf(call);
  const auto number = [&](const char* name) { return integerOf(call, name, -kAnyInt, kAnyInt); };
  const int32_t width = integerOf(call, "width", 1, 16384), height = integerOf(call, "height", 1, 16384);
  SadParameters p;
  p.minDisparity = number("minDisparity");
  p.numDisparities = number("numDisparities");
  p.windowWidth = number("windowWidth");
  p.windowHeight = number("windowHeight");
  p.weights = hsvWeightsOf(call);
  p.subpixel = booleanOf(call, "subpixel");
  throwUnlessOk(info.Env(), checkSadParameters(p));
  const SadImages images{hsvImageOf(call, "left", width, height), hsvImageOf(call, "right", width, height)};
  const SadResult result{imageOf<int16_t>(call, "disparityQ4"), imageOf<int16_t>(call, "disparity"),
                         imageOf<int16_t>(call, "rightDisparity"), imageOf<uint8_t>(call, "confidence")};
  if (kernels == nullptr) {
    sadReference(p, images, result);
    return Napi::String::New(info.Env(), "reference");
  }
  Workers workers(integerOf(call, "threads", 1, 64, 1));
  Sad* opened = nullptr;
  throwUnlessOk(info.Env(), Sad::open(p, width, height, true, *kernels->sad, workers, &opened));
  const std::unique_ptr<Sad> fast(opened);
  fast->compute(images, result);
  return Napi::String::New(info.Env(), nameOf(kernels->instructionSet));
}

}  // namespace

void addSad(Napi::Env env, Napi::Object rooms) { rooms.Set("sad", Napi::Function::New(env, sad, "sad")); }

}  // namespace depthwatt
