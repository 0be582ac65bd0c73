// SPDX-License-Identifier: Apache-2.0
// Reads the EngineOptions of native.ts into EngineParameters.
#pragma once

#include <napi.h>

#include "../../../core/napi/captured_pair.h"
#include "../engine.h"

namespace depthwatt {

/// Throws ENGINE_PARAMETER if an option is missing or of the wrong type. Engine::open checks ranges.
EngineParameters engineParametersOf(const Napi::Object& options);

/// Reads {algorithm, parameters?}. Parameters that are not given get their default.
MatcherChoice matcherChoiceOf(const Napi::Object& match, bool halfResolution);

/// Reads the properties frame ("camera" or "robot") and element ("float32" or "int16").
void pointsFormOf(const Napi::Object& object, PointsParameters* parameters);

/// Reads "rvl" or "raw"; undefined gives kNone.
Encoding encodingOf(const Napi::Object& object, const char* name);

}  // namespace depthwatt
