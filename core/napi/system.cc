// SPDX-License-Identifier: Apache-2.0
// The clocks and what Node's Unix sockets lack, for JavaScript; see system.h.
#include "system.h"

#include <ctime>

#include "notify.h"

namespace depthwatt {
namespace {

int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

Napi::Value clocks(const Napi::CallbackInfo& info) {
  const int64_t before = nanoseconds(CLOCK_MONOTONIC);
  const int64_t realtime = nanoseconds(CLOCK_REALTIME);
  const int64_t after = nanoseconds(CLOCK_MONOTONIC);
  auto now = Napi::Object::New(info.Env());
  now.Set("monotonicNs", Napi::BigInt::New(info.Env(), before + (after - before) / 2));
  now.Set("realtimeNs", Napi::BigInt::New(info.Env(), realtime));
  return now;
}

}  // namespace

void addSystem(Napi::Env env, Napi::Object exports) {
  exports.Set("clocks", Napi::Function::New(env, clocks, "clocks"));
  exports.Set("sdNotify", Napi::Function::New(env, sdNotify, "sdNotify"));
  exports.Set("peerOf", Napi::Function::New(env, peerOf, "peerOf"));
}

}  // namespace depthwatt
