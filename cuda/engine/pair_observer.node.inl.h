// SPDX-License-Identifier: Apache-2.0
// native.stages.rowDecision({estimates: Int32Array, count}) returns [applied, median] after each estimate, one after the other.
// native.stages.smoothRange({sigmaQ8, applied}) returns the filter's range.
// native.stages.looksAt({frame}) returns whether the engine observes that frame.
#include "pair_observer.h"

#include <algorithm>

#include "../../core/napi/arguments.h"

namespace depthwatt {
namespace {

Napi::Value rowDecision(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const int32_t count = readInteger(call, "count", 1, 1000);
  const auto estimates = readImage<const int32_t>(call, "estimates", count, 1, sizeof(int32_t) * count);
  RowDecision decision;
  auto result = Napi::Int32Array::New(info.Env(), 2 * static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    result[2 * static_cast<size_t>(i)] = decision.take(std::clamp(estimates.data[i], -1024, 1024));
    result[2 * static_cast<size_t>(i) + 1] = decision.median();
  }
  return result;
}

Napi::Value smoothRange(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  return Napi::Number::New(info.Env(), smoothRangeFor(readInteger(call, "sigmaQ8", 0, 1 << 16),
                                                      readInteger(call, "applied", 0, kMaxSmoothRange)));
}

Napi::Value looksAt(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  return Napi::Boolean::New(info.Env(),
                            PairObserver::looksAt(static_cast<uint64_t>(readInteger(call, "frame", 0, kAnyInt))));
}

}  // namespace

void addPairObserver(Napi::Env env, Napi::Object stages) {
  stages.Set("rowDecision", Napi::Function::New(env, rowDecision, "rowDecision"));
  stages.Set("smoothRange", Napi::Function::New(env, smoothRange, "smoothRange"));
  stages.Set("looksAt", Napi::Function::New(env, looksAt, "looksAt"));
}

}  // namespace depthwatt
