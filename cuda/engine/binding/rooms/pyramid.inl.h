// SPDX-License-Identifier: Apache-2.0
// native.rooms.pyramid({variant, threads?, width, height, minDisparity, numDisparities, windowWidth, windowHeight, levels, peakRatio,
//                       subpixel, left, right: Uint8Array of eight bytes a pixel, as hsv gives them,
//                       disparityQ4, disparity, rightDisparity: Int16Array, confidence: Uint8Array})
#include "../../../match/pyramid/pyramid.h"

#include <memory>

#include "../../../simd/kernels.h"

namespace depthwatt {
namespace {

Napi::Value pyramid(const Napi::CallbackInfo& info) {
  const auto call = info[0].As<Napi::Object>();
  const Kernels* kernels = kernelsOf(call);
  const auto number = [&](const char* name) { return integerOf(call, name, -kAnyInt, kAnyInt); };
  const int32_t width = integerOf(call, "width", 1, 16384), height = integerOf(call, "height", 1, 16384);
  PyramidParameters p;
  p.minDisparity = number("minDisparity");
  p.numDisparities = number("numDisparities");
  p.windowWidth = number("windowWidth");
  p.windowHeight = number("windowHeight");
  p.levels = number("levels");
  p.peakRatio = number("peakRatio");
  p.subpixel = booleanOf(call, "subpixel");
  throwUnlessOk(info.Env(), checkPyramidParameters(p));
  const PyramidImages images{hsvImageOf(call, "left", width, height), hsvImageOf(call, "right", width, height)};
  const PyramidResult result{imageOf<int16_t>(call, "disparityQ4"), imageOf<int16_t>(call, "disparity"),
                             imageOf<int16_t>(call, "rightDisparity"), imageOf<uint8_t>(call, "confidence")};
  if (kernels == nullptr) {
    pyramidReference(p, images, result);
    return Napi::String::New(info.Env(), "reference");
  }
  Workers workers(integerOf(call, "threads", 1, 64, 1));
  Pyramid* opened = nullptr;
  throwUnlessOk(info.Env(), Pyramid::open(p, width, height, true, *kernels->pyramid, workers, &opened));
  const std::unique_ptr<Pyramid> fast(opened);
  fast->compute(images, result);
  return Napi::String::New(info.Env(), nameOf(kernels->instructionSet));
}

}  // namespace

void addPyramid(Napi::Env env, Napi::Object rooms) {
  rooms.Set("pyramid", Napi::Function::New(env, pyramid, "pyramid"));
}

}  // namespace depthwatt
