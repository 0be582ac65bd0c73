// SPDX-License-Identifier: Apache-2.0
// EngineOptions of native.ts as EngineParameters.
#pragma once

#include <napi.h>

#include "../../../core/napi/captured_pair.h"
#include "../engine.h"

namespace depthwatt {

/// Throws ENGINE_PARAMETER for what is missing or of the wrong type; ranges are checked by Engine::open.
EngineParameters engineParametersOf(const Napi::Object& options);

/// {algorithm, parameters?}: the matcher with the values that are given, each other one with its default.
MatcherChoice matcherChoiceOf(const Napi::Object& match, bool halfResolution);

/// Properties frame ("camera" or "robot") and element ("float32" or "int16").
void pointsFormOf(const Napi::Object& object, PointsParameters* parameters);

/// "rvl" or "raw"; undefined gives kNone.
Encoding encodingOf(const Napi::Object& object, const char* name);

}  // namespace depthwatt
