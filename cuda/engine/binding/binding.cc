// SPDX-License-Identifier: Apache-2.0
// What the engine puts on the addon's exports; see binding.h.
#include "binding.h"

#include "../../simd/kernels.h"
#include "../plugin.h"
#include "facts.h"
#include "rooms.h"
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

Napi::Value cudaUnavailable(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), probeCudaPlugin().message);
}

}  // namespace

void addEngine(Napi::Env env, Napi::Object exports) {
  exports.Set("cpuFeatures", Napi::Function::New(env, cpuFeatures, "cpuFeatures"));
  exports.Set("cudaUnavailable", Napi::Function::New(env, cudaUnavailable, "cudaUnavailable"));
  addSession(env, exports);
  addFacts(env, exports);
  addRooms(env, exports);
}

}  // namespace depthwatt
