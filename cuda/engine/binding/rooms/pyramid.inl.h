// SPDX-License-Identifier: Apache-2.0
// native.rooms.pyramid({variant, levels, peakRatio, and what window_call.h names})
#include "../../../match/pyramid/pyramid.h"

#include "window_call.h"

namespace depthwatt {
namespace {

Napi::Value pyramid(const Napi::CallbackInfo& info) {
  const auto call = info[0].As<Napi::Object>();
  PyramidParameters p;
  readWindow(call, p);
  p.levels = integerOf(call, "levels", -kAnyInt, kAnyInt);
  p.peakRatio = integerOf(call, "peakRatio", -kAnyInt, kAnyInt);
  throwUnlessOk(info.Env(), checkPyramidParameters(p));
  return runWindow<Pyramid>(info, p, pyramidReference);
}

}  // namespace

void addPyramid(Napi::Env env, Napi::Object rooms) {
  rooms.Set("pyramid", Napi::Function::New(env, pyramid, "pyramid"));
}

}  // namespace depthwatt
