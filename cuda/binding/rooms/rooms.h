// SPDX-License-Identifier: Apache-2.0
// Rooms one by one, for tests and benchmarks. Each file of this folder adds one function to native.rooms; a new room adds
// one declaration here and one line in addon.cc. Every function takes one object; `variant` is "reference" or an
// instruction set, and the function answers with the name of what ran.
#pragma once

#include <napi.h>

#include "../../match/sgm/sgm.h"

namespace depthwatt {

void addCensus(Napi::Env env, Napi::Object rooms);
void addBoundary(Napi::Env env, Napi::Object rooms);
void addCross(Napi::Env env, Napi::Object rooms);
void addDepth(Napi::Env env, Napi::Object rooms);
void addFill(Napi::Env env, Napi::Object rooms);
void addGradientCensus(Napi::Env env, Napi::Object rooms);
void addHalf(Napi::Env env, Napi::Object rooms);
void addLeftRight(Napi::Env env, Napi::Object rooms);
void addRectify(Napi::Env env, Napi::Object rooms);
void addMedian(Napi::Env env, Napi::Object rooms);
void addSpeckle(Napi::Env env, Napi::Object rooms);
void addRvl(Napi::Env env, Napi::Object rooms);
void addSelect(Napi::Env env, Napi::Object rooms);
void addSgm(Napi::Env env, Napi::Object rooms);
void addUpscale(Napi::Env env, Napi::Object rooms);

/// The properties of `call` that sgm and select share; sgm.cc holds them.
SgmParameters sgmParametersOf(const Napi::Object& call);
SgmResult sgmResultOf(const Napi::Object& call, int32_t width, int32_t height);

}  // namespace depthwatt
