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
  const Variant variant = readVariant(call);
  PointsParameters parameters;
  parameters.focalPixels = readNumber(call, "focalPixels");
  parameters.baselineMetres = readNumber(call, "baselineMetres");
  parameters.disparityOffsetPixels = readNumber(call, "disparityOffsetPixels");
  parameters.cx = readNumber(call, "cx");
  parameters.cy = readNumber(call, "cy");
  readPointsForm(call, &parameters);
  parameters.colours = !call.Get("rgb").IsUndefined();
  PointsImages images;
  images.disparityQ4 = readImage<const int16_t>(call, "disparityQ4");
  const int32_t width = images.disparityQ4.width, height = images.disparityQ4.height;
  const size_t pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
  images.grey = readImage<const uint8_t>(call, "grey");
  if (parameters.colours) {
    const auto* bytes = readElements<const uint8_t>(call, "rgb", 3 * pixels);
    images.rgb = packedView(reinterpret_cast<const Rgb8*>(bytes), width, height);
  }
  auto* out = readElements<uint8_t>(call, "points", pixels * pointBytes(parameters));
  if (variant.isReference) {
    pointsReference(parameters, images, out);
    return Napi::String::New(info.Env(), variant.name());
  }
  const PointsPlan plan = makePointsPlan(parameters, width);
  Workers workers(readInteger(call, "threads", 1, 64, 1));
  workers.rows(height, [&](int32_t first, int32_t end) {
    kernelsFor<PointsKernels>(variant.set).points(plan, images, out, first, end);
  });
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addPoints(Napi::Env env, Napi::Object stages) { stages.Set("points", Napi::Function::New(env, points, "points")); }

}  // namespace depthwatt
