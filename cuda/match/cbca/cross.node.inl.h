// SPDX-License-Identifier: Apache-2.0
// native.stages.cross({variant, threads?, width, height, minDisparity, numDisparities, armX, armY, similarity,
//                     armXRight?, armYRight?, lambdaDifference?, differenceScale?, lambdaCensus?,
//                     left, right: Uint8Array, disparity, rightDisparity: Int16Array})
#include "cross.h"

#include <memory>

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value cross(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  CrossParameters parameters{readInteger(call, "minDisparity", -kAnyInt, kAnyInt),
                             readInteger(call, "numDisparities", -kAnyInt, kAnyInt),
                             readInteger(call, "armX", -kAnyInt, kAnyInt), readInteger(call, "armY", -kAnyInt, kAnyInt),
                             readInteger(call, "similarity", -kAnyInt, kAnyInt)};
  parameters.armXRight = readInteger(call, "armXRight", -kAnyInt, kAnyInt, -1);
  parameters.armYRight = readInteger(call, "armYRight", -kAnyInt, kAnyInt, -1);
  parameters.lambdaDifference = readInteger(call, "lambdaDifference", -kAnyInt, kAnyInt, kLambdaDifference);
  parameters.differenceScale = readInteger(call, "differenceScale", kGreyLevel, kFullScale, kFullScale);
  parameters.lambdaCensus = readInteger(call, "lambdaCensus", -kAnyInt, kAnyInt, kLambdaCensus);
  throwUnlessOk(info.Env(), checkCrossParameters(parameters));
  const CrossImages images{readImage<const uint8_t>(call, "left"), readImage<const uint8_t>(call, "right"),
                           readImage<int16_t>(call, "disparity"), readImage<int16_t>(call, "rightDisparity")};
  if (variant.isReference) {
    crossReference(parameters, images);
    return Napi::String::New(info.Env(), variant.name());
  }
  Workers workers(readInteger(call, "threads", 1, 64, 1));
  Cross* opened = nullptr;
  throwUnlessOk(info.Env(),
                Cross::open(parameters, images.left.width, images.left.height, variant.set, workers, &opened));
  const std::unique_ptr<Cross> fast(opened);
  fast->compute(images);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addCross(Napi::Env env, Napi::Object stages) { stages.Set("cross", Napi::Function::New(env, cross, "cross")); }

}  // namespace depthwatt
