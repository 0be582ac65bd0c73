// SPDX-License-Identifier: Apache-2.0
// The capture part of the addon as a module of its own: `video` and `clocks`, for a machine that only captures.
#include <napi.h>

#include <ctime>

#include "camera/v4l2/binding.h"

namespace depthwatt {
namespace {

Napi::Value clocks(const Napi::CallbackInfo& info) {
  const auto read = [&](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return Napi::BigInt::New(info.Env(), int64_t{now.tv_sec} * 1000000000 + now.tv_nsec);
  };
  auto both = Napi::Object::New(info.Env());
  both.Set("monotonicNs", read(CLOCK_MONOTONIC));
  both.Set("realtimeNs", read(CLOCK_REALTIME));
  return both;
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  addVideo(env, exports);
  exports.Set("clocks", Napi::Function::New(env, clocks, "clocks"));
  return exports;
}

}  // namespace

NODE_API_MODULE(capture, initialise)

}  // namespace depthwatt
