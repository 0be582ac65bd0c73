// SPDX-License-Identifier: Apache-2.0
// The addon's export table: what JavaScript sees, and nothing else.
#include <napi.h>

#include <ctime>

#include "../../camera/capture/v4l2/binding.h"
#include "../../power/native/binding.h"
#include "../cpu/kernels.h"
#include "notify.h"
#include "../plugin.h"
#include "rooms.h"
#include "scene.h"
#include "session.h"

namespace depthwatt {
namespace {

Napi::Value cpuFeatures(const Napi::CallbackInfo& info) {
  int count = 0;
  const Kernels* const* tables = availableKernels(&count);
  auto available = Napi::Array::New(info.Env());
  for (int i = 0; i < count; ++i) available.Set(static_cast<uint32_t>(i), nameOf(tables[i]->instructionSet));
  auto features = Napi::Object::New(info.Env());
  features.Set("available", available);
  features.Set("best", nameOf(tables[0]->instructionSet));
  return features;
}

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

Napi::Value cudaUnavailable(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), probeCudaPlugin().message);
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports.Set("cpuFeatures", Napi::Function::New(env, cpuFeatures, "cpuFeatures"));
  exports.Set("createScene", Napi::Function::New(env, createScene, "createScene"));
  exports.Set("clocks", Napi::Function::New(env, clocks, "clocks"));
  exports.Set("sdNotify", Napi::Function::New(env, sdNotify, "sdNotify"));
  exports.Set("cudaUnavailable", Napi::Function::New(env, cudaUnavailable, "cudaUnavailable"));
  addSession(env, exports);
  addPower(env, exports);
  addRooms(env, exports);
  addVideo(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(depthwatt, initialise)

}  // namespace depthwatt
