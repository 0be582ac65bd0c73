// SPDX-License-Identifier: Apache-2.0
// native.stages.cross({variant, threads?, width, height, minDisparity, numDisparities, armX, armY, similarity,
//                     armXRight?, armYRight?, lambdaDifference?, differenceScale?, lambdaCensus?,
//                     left, right: Uint8Array, disparity, rightDisparity: Int16Array})
// native.stages.crossCosts({lambdaDifference, differenceScale, lambdaCensus}): both tables as one Uint8Array
// native.stages.crossPlan({width, height, the parameters of cross, multiprocessors, sharedBytes, volumeBytes, the fields of CrossTuning?})
//   returns the fields of CrossPlan. rowWarps and columnWarps replace rowThreads and columnThreads.
#include "cross.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "../../engine/binding/variant.h"
#include "cross_plan.h"

namespace depthwatt {
namespace {

CrossParameters readCrossParameters(const Napi::Object& call) {
  CrossParameters parameters{readInteger(call, "minDisparity", -kAnyInt, kAnyInt),
                             readInteger(call, "numDisparities", -kAnyInt, kAnyInt),
                             readInteger(call, "armX", -kAnyInt, kAnyInt), readInteger(call, "armY", -kAnyInt, kAnyInt),
                             readInteger(call, "similarity", -kAnyInt, kAnyInt)};
  parameters.armXRight = readInteger(call, "armXRight", -kAnyInt, kAnyInt, -1);
  parameters.armYRight = readInteger(call, "armYRight", -kAnyInt, kAnyInt, -1);
  parameters.lambdaDifference = readInteger(call, "lambdaDifference", -kAnyInt, kAnyInt, kLambdaDifference);
  parameters.differenceScale = readInteger(call, "differenceScale", kGreyLevel, kFullScale, kFullScale);
  parameters.lambdaCensus = readInteger(call, "lambdaCensus", -kAnyInt, kAnyInt, kLambdaCensus);
  throwUnlessOk(call.Env(), checkCrossParameters(parameters));
  return parameters;
}

Napi::Value cross(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const CrossParameters parameters = readCrossParameters(call);
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

Napi::Value crossCosts(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const CrossCosts costs = makeCrossCosts(readInteger(call, "lambdaDifference", kLeastLambda, kMaxLambda),
                                          readInteger(call, "differenceScale", kGreyLevel, kFullScale),
                                          readInteger(call, "lambdaCensus", kLeastLambda, kMaxLambda));
  auto result = Napi::Uint8Array::New(info.Env(), 256 + 7);
  std::copy_n(costs.difference, 256, result.Data());
  std::copy_n(costs.census, 7, result.Data() + 256);
  return result;
}

Napi::Value crossPlan(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const CrossDeviceLimits limits{readInteger(call, "multiprocessors", 1, 1024),
                                 static_cast<size_t>(readInteger(call, "sharedBytes", 1, 1 << 20)),
                                 static_cast<size_t>(readInteger(call, "volumeBytes", 1, 1 << 30))};
  CrossTuning tuning;
  tuning.groups = readInteger(call, "groups", 0, 32, 0);
  tuning.rowSegments = readInteger(call, "rowSegments", 0, 16384, 0);
  tuning.columnSegments = readInteger(call, "columnSegments", 0, 16384, 0);
  tuning.rowThreads = 32 * readInteger(call, "rowWarps", 0, 32, 0);
  tuning.columnThreads = 32 * readInteger(call, "columnWarps", 0, 32, 0);
  tuning.rowsTogether = readInteger(call, "rowsTogether", -1, 1, -1);
  tuning.sums = readInteger(call, "sums", -1, 2, -1);
  tuning.whole = readInteger(call, "whole", -1, 3, -1);
  tuning.streams = readInteger(call, "streams", 0, 2, 0);
  const CrossPlan plan = makeCrossPlan(readCrossParameters(call), readInteger(call, "width", 1, 16384),
                                       readInteger(call, "height", 1, 16384), limits, tuning);
  const std::pair<const char*, size_t> numbers[] = {
      {"words", static_cast<size_t>(plan.words)},
      {"armRows", static_cast<size_t>(plan.armRows)},
      {"groups", static_cast<size_t>(plan.groups)},
      {"chunks", static_cast<size_t>(plan.chunks)},
      {"ringRows", static_cast<size_t>(plan.ringRows)},
      {"ringColumns", static_cast<size_t>(plan.ringColumns)},
      {"rowSegments", static_cast<size_t>(plan.rowSegments)},
      {"rowSegmentPixels", static_cast<size_t>(plan.rowSegmentPixels)},
      {"rowThreads", static_cast<size_t>(plan.rowThreads)},
      {"rowsTogether", static_cast<size_t>(plan.rowsTogether)},
      {"wholeRows", static_cast<size_t>(plan.wholeRows)},
      {"wholeColumns", static_cast<size_t>(plan.wholeColumns)},
      {"wholeParts", static_cast<size_t>(plan.wholeParts)},
      {"columnSegments", static_cast<size_t>(plan.columnSegments)},
      {"columnSegmentRows", static_cast<size_t>(plan.columnSegmentRows)},
      {"columnThreads", static_cast<size_t>(plan.columnThreads)},
      {"columnsPerWarp", static_cast<size_t>(plan.columnsPerWarp)},
      {"sums", static_cast<size_t>(plan.sums)},
      {"prepareSharedBytes", plan.prepareSharedBytes},
      {"rowsSharedBytes", plan.rowsSharedBytes},
      {"columnsSharedBytes", plan.columnsSharedBytes},
      {"streams", static_cast<size_t>(plan.streams)},
  };
  auto result = Napi::Object::New(info.Env());
  for (const auto& [name, value] : numbers) result.Set(name, static_cast<double>(value));
  return result;
}

}  // namespace

void addCross(Napi::Env env, Napi::Object stages) {
  stages.Set("cross", Napi::Function::New(env, cross, "cross"));
  stages.Set("crossCosts", Napi::Function::New(env, crossCosts, "crossCosts"));
  stages.Set("crossPlan", Napi::Function::New(env, crossPlan, "crossPlan"));
}

}  // namespace depthwatt
