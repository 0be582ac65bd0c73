// SPDX-License-Identifier: Apache-2.0
// native.stages.voxels({variant, width, height, focalPixels, baselineMetres, disparityOffsetPixels, cx, cy, frame: "camera" |
//                      "robot", sizeMillimetres, uncertaintyPixels, disparityQ4: Int16Array,
//                      voxels: Int16Array [width * height + 1][4], threads?})
// The fast form is the same for every instruction set.
#include "voxels.h"

#include "../../engine/binding/session_options.h"
#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value voxelsStage(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  VoxelsParameters p;
  p.focalPixels = readNumber(call, "focalPixels");
  p.baselineMetres = readNumber(call, "baselineMetres");
  p.disparityOffsetPixels = readNumber(call, "disparityOffsetPixels");
  p.sizeMillimetres = readInteger(call, "sizeMillimetres", 1, 100000);
  p.uncertaintyPixels = readNumber(call, "uncertaintyPixels");
  readVoxelsView(call, &p);
  const auto disparityQ4 = readImage<const int16_t>(call, "disparityQ4");
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  auto* numbers = readElements<int16_t>(call, "voxels", voxelBytes(width, height) / sizeof(int16_t));
  auto* voxels = reinterpret_cast<Voxel*>(numbers);
  const int32_t threads = readInteger(call, "threads", 1, 64, 1);
  if (!(p.focalPixels > 0 && p.baselineMetres > 0 && p.uncertaintyPixels >= 0)) {
    throwUnlessOk(info.Env(), Status::error(Code::kParameter,
                                            "voxels: expected focalPixels and baselineMetres above 0, and "
                                            "uncertaintyPixels of 0 or more."));
  }
  if (variant.isReference) {
    voxelsReference(p, disparityQ4, voxels);
  } else {
    Workers workers(threads);
    VoxelLister lister(makeVoxelsPlan(p, width, height), width, height, workers);
    // Twice: the second frame finds what the first one left.
    lister.list(disparityQ4, voxels);
    lister.list(disparityQ4, voxels);
  }
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addVoxels(Napi::Env env, Napi::Object stages) {
  stages.Set("voxels", Napi::Function::New(env, voxelsStage, "voxels"));
}

}  // namespace depthwatt
