// SPDX-License-Identifier: Apache-2.0
// native.stages.denoise({variant, width, height, strideBytes?, image: Uint8Array, range: 1 to 36, smoothed: Uint8Array,
//   filtered: Uint8Array, sigmaQ8: Int32Array of 1})
#include "denoise.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value denoise(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto image = readImage<const uint8_t>(call, "image");
  const auto smoothed =
      readImage<uint8_t>(call, "smoothed", image.width, image.height, static_cast<size_t>(image.width));
  const auto filtered =
      readImage<uint8_t>(call, "filtered", image.width, image.height, static_cast<size_t>(image.width));
  const int32_t range = readInteger(call, "range", 1, kMaxSmoothRange);
  const auto sigma = readImage<int32_t>(call, "sigmaQ8", 1, 1, sizeof(int32_t));
  NoiseCounts counts;
  if (variant.isReference) {
    countNoiseReference(image, counts);
    smoothReference(image, smoothed);
    bilateralReference(image, smoothed.asConst(), range, filtered);
    *sigma.data = noiseSigmaQ8Reference(counts);
    return Napi::String::New(info.Env(), variant.name());
  }
  kernelsFor<DenoiseKernels>(variant.set).countNoise(image, counts);
  kernelsFor<DenoiseKernels>(variant.set).smooth(image, smoothed, 0, image.height);
  kernelsFor<DenoiseKernels>(variant.set).bilateral(image, smoothed.asConst(), range, filtered, 0, image.height);
  *sigma.data = noiseSigmaQ8(counts);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addDenoise(Napi::Env env, Napi::Object stages) {
  stages.Set("denoise", Napi::Function::New(env, denoise, "denoise"));
}

}  // namespace depthwatt
