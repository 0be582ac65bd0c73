// SPDX-License-Identifier: Apache-2.0
// native.stages.sad({variant, hue, saturation, value, and the arguments of window_call.h})
#include "sad.h"

#include "../../engine/binding/window_call.h"

namespace depthwatt {
namespace {

Napi::Value sad(const Napi::CallbackInfo& info) {
  const auto call = info[0].As<Napi::Object>();
  SadParameters p;
  readWindow(call, p);
  p.weights = hsvWeightsFrom(call);
  throwUnlessOk(info.Env(), checkSadParameters(p));
  return runWindow<Sad>(info, p, sadReference);
}

}  // namespace

void addSad(Napi::Env env, Napi::Object stages) { stages.Set("sad", Napi::Function::New(env, sad, "sad")); }

}  // namespace depthwatt
