// SPDX-License-Identifier: Apache-2.0
// native.stages.floor({variant, width, height, disparityQ4: Int16Array, confidence: Uint8Array, focalPixels, baselineMetres,
//                     disparityOffsetPixels, cx, cy, before?: Float64Array [a, b, c], onlyBefore?: boolean,
//                     threads?, floor: Float64Array (outcome, a, b, c, known, on, below, under, squares)})
#include "floor.h"

#include <memory>

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value floorStage(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto disparityQ4 = readImage<const int16_t>(call, "disparityQ4");
  const auto confidence = readImage<const uint8_t>(call, "confidence", disparityQ4.width, disparityQ4.height,
                                                   static_cast<size_t>(disparityQ4.width));
  FloorSettings settings;
  settings.focalPixels = readNumber(call, "focalPixels");
  settings.baselineMetres = readNumber(call, "baselineMetres");
  settings.disparityOffsetPixels = readNumber(call, "disparityOffsetPixels");
  settings.cx = readNumber(call, "cx"), settings.cy = readNumber(call, "cy");
  FloorParameters p = makeFloorParameters(settings, disparityQ4.width, disparityQ4.height);
  if (!call.Get("before").IsUndefined()) {
    const auto* before = readElements<const double>(call, "before", 3);
    p.hasBefore = true;
    const auto whole = [](double value) {
      return value > -1e13 && value < 1e13 ? static_cast<int64_t>(value) : int64_t{0};
    };
    p.before = {whole(before[0]), whole(before[1]), whole(before[2])};
    p.onlyBefore = call.Get("onlyBefore").ToBoolean();
  }
  auto* out = readElements<double>(call, "floor", 9);
  const int32_t threads = readInteger(call, "threads", 1, 64, 1);
  FloorResult r;
  if (variant.isReference) {
    r = floorReference(p, disparityQ4, confidence);
  } else {
    // Kept between calls: a benchmark calls this for every frame.
    static thread_local std::unique_ptr<Workers> workers;
    if (!workers || workers->count() != threads) workers = std::make_unique<Workers>(threads);
    r = findFloor(p, disparityQ4, confidence, kernelsFor<FloorKernels>(variant.set).score, *workers);
  }
  const double values[9] = {
      static_cast<double>(r.outcome), static_cast<double>(r.plane.a), static_cast<double>(r.plane.b),
      static_cast<double>(r.plane.c), static_cast<double>(r.known),   static_cast<double>(r.on),
      static_cast<double>(r.below),   static_cast<double>(r.under),   static_cast<double>(r.squares)};
  for (int i = 0; i < 9; ++i) out[i] = values[i];
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addFloor(Napi::Env env, Napi::Object stages) {
  stages.Set("floor", Napi::Function::New(env, floorStage, "floor"));
}

}  // namespace depthwatt
