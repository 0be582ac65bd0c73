// SPDX-License-Identifier: Apache-2.0
// native.stages.cross({variant, threads?, width, height, minDisparity, numDisparities, armX, armY, similarity,
//                     armXRight?, armYRight?, lambdaDifference?, lambdaCensus?,
//                     left, right: Uint8Array, disparity, rightDisparity: Int16Array})
#include "cross.h"

#include <memory>

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value cross(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = variantOf(call);
  CrossParameters parameters{integerOf(call, "minDisparity", -kAnyInt, kAnyInt),
                             integerOf(call, "numDisparities", -kAnyInt, kAnyInt),
                             integerOf(call, "armX", -kAnyInt, kAnyInt), integerOf(call, "armY", -kAnyInt, kAnyInt),
                             integerOf(call, "similarity", -kAnyInt, kAnyInt)};
  parameters.armXRight = integerOf(call, "armXRight", -kAnyInt, kAnyInt, -1);
  parameters.armYRight = integerOf(call, "armYRight", -kAnyInt, kAnyInt, -1);
  parameters.lambdaDifference = integerOf(call, "lambdaDifference", -kAnyInt, kAnyInt, kLambdaDifference);
  parameters.lambdaCensus = integerOf(call, "lambdaCensus", -kAnyInt, kAnyInt, kLambdaCensus);
  throwUnlessOk(info.Env(), checkCrossParameters(parameters));
  const CrossImages images{imageOf<const uint8_t>(call, "left"), imageOf<const uint8_t>(call, "right"),
                           imageOf<int16_t>(call, "disparity"), imageOf<int16_t>(call, "rightDisparity")};
  if (variant.isReference) {
    crossReference(parameters, images);
    return Napi::String::New(info.Env(), variant.name());
  }
  Workers workers(integerOf(call, "threads", 1, 64, 1));
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
