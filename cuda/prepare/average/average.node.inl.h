// SPDX-License-Identifier: Apache-2.0
// native.stages.average({variant, width, height, image: Uint8Array, filtered: Uint8Array, before: Int16Array, after: Int16Array,
//   averaged: Uint8Array, limit: 0 to kMaxAverageLimit})
#include "average.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value average(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  AverageTask task;
  task.image = readImage<const uint8_t>(call, "image");
  task.filtered = readImage<const uint8_t>(call, "filtered");
  task.before = readImage<const int16_t>(call, "before");
  task.after = readImage<int16_t>(call, "after");
  task.averaged = readImage<uint8_t>(call, "averaged");
  task.limit = readInteger(call, "limit", 0, kMaxAverageLimit);
  if (variant.isReference) averageReference(task);
  else kernelsFor<AverageKernels>(variant.set).average(task, 0, task.image.height);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addAverage(Napi::Env env, Napi::Object stages) {
  stages.Set("average", Napi::Function::New(env, average, "average"));
}

}  // namespace depthwatt
