// SPDX-License-Identifier: Apache-2.0
// native.stages.leftRight({variant, width, height, disparity, rightDisparity, disparityQ4: Int16Array, confidence?: Uint8Array,
//                         tolerance?: 0 | 1})
#include "left_right.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value leftRight(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  LeftRightImages images{readImage<const int16_t>(call, "disparity"),
                         readImage<const int16_t>(call, "rightDisparity"),
                         readImage<int16_t>(call, "disparityQ4"),
                         {},
                         1};
  images.tolerance = readInteger(call, "tolerance", 0, 1, 1);
  if (!call.Get("confidence").IsUndefined()) {
    images.confidence = readImage<uint8_t>(call, "confidence", images.disparity.width, images.disparity.height,
                                           static_cast<size_t>(images.disparity.width));
  }
  if (variant.isReference) leftRightReference(images);
  else kernelsFor<LeftRightKernels>(variant.set).leftRight(images, 0, images.disparity.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addLeftRight(Napi::Env env, Napi::Object stages) {
  stages.Set("leftRight", Napi::Function::New(env, leftRight, "leftRight"));
}

}  // namespace depthwatt
