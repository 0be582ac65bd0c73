// SPDX-License-Identifier: Apache-2.0
// Adds the engine to the addon's exports; see binding.h.
#include "binding.h"

#include "../../simd/instruction_set.h"
#include "../plugin.h"
#include "facts.h"
#include "stage_bindings.h"
#include "session.h"

namespace depthwatt {
namespace {

Napi::Value cpuFeatures(const Napi::CallbackInfo& info) {
  const std::vector<InstructionSet>& sets = availableInstructionSets();
  auto available = Napi::Array::New(info.Env());
  for (uint32_t i = 0; i < sets.size(); ++i) available.Set(i, instructionSetName(sets[i]));
  auto features = Napi::Object::New(info.Env());
  features.Set("available", available);
  features.Set("best", instructionSetName(sets.front()));
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
  addStages(env, exports);
}

}  // namespace depthwatt
