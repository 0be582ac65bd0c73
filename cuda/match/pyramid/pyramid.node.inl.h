// SPDX-License-Identifier: Apache-2.0
// native.stages.pyramid({variant, levels, peakRatio, and the arguments of window_call.h})
#include "pyramid.h"

#include "../../engine/binding/window_call.h"

namespace depthwatt {
namespace {

Napi::Value pyramid(const Napi::CallbackInfo& info) {
  const auto call = info[0].As<Napi::Object>();
  PyramidParameters p;
  readWindow(call, p);
  p.levels = readInteger(call, "levels", -kAnyInt, kAnyInt);
  p.peakRatio = readInteger(call, "peakRatio", -kAnyInt, kAnyInt);
  throwUnlessOk(info.Env(), checkPyramidParameters(p));
  return runWindow<Pyramid>(info, p, pyramidReference);
}

}  // namespace

void addPyramid(Napi::Env env, Napi::Object stages) {
  stages.Set("pyramid", Napi::Function::New(env, pyramid, "pyramid"));
}

}  // namespace depthwatt
