// SPDX-License-Identifier: Apache-2.0
// native.stages.points({variant, width, height, focalPixels, baselineMetres, disparityOffsetPixels, cx, cy, frame: "camera" |
//                      "robot", element: "float32" | "int16", disparityQ4: Int16Array, grey: Uint8Array,
//                      rgb?: Uint8Array [height][width][3], points: Uint8Array, threads?})
#include "points.h"

#include "../../../core/workers.h"
#include "../../engine/binding/session_options.h"
#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value points(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = variantOf(call);
  PointsParameters parameters;
  parameters.focalPixels = numberOf(call, "focalPixels");
  parameters.baselineMetres = numberOf(call, "baselineMetres");
  parameters.disparityOffsetPixels = numberOf(call, "disparityOffsetPixels");
  parameters.cx = numberOf(call, "cx");
  parameters.cy = numberOf(call, "cy");
  pointsFormOf(call, &parameters);
  parameters.colours = !call.Get("rgb").IsUndefined();
  PointsImages images;
  images.disparityQ4 = imageOf<const int16_t>(call, "disparityQ4");
  const int32_t width = images.disparityQ4.width, height = images.disparityQ4.height;
  const size_t pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
  images.grey = imageOf<const uint8_t>(call, "grey");
  if (parameters.colours) {
    const auto* bytes = elementsOf<const uint8_t>(call, "rgb", 3 * pixels);
    images.rgb = packedView(reinterpret_cast<const Rgb8*>(bytes), width, height);
  }
  auto* out = elementsOf<uint8_t>(call, "points", pixels * pointBytes(parameters));
  if (variant.isReference) {
    pointsReference(parameters, images, out);
    return Napi::String::New(info.Env(), variant.name());
  }
  const PointsPlan plan = pointsPlanOf(parameters, width);
  Workers workers(integerOf(call, "threads", 1, 64, 1));
  workers.rows(height, [&](int32_t first, int32_t end) {
    kernelsFor<PointsKernels>(variant.set).points(plan, images, out, first, end);
  });
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addPoints(Napi::Env env, Napi::Object stages) { stages.Set("points", Napi::Function::New(env, points, "points")); }

}  // namespace depthwatt
