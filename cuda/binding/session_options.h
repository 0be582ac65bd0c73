// SPDX-License-Identifier: Apache-2.0
// EngineOptions of native.ts as EngineParameters.
#pragma once

#include <napi.h>

#include "../engine.h"

namespace depthwatt {

/// Throws ENGINE_PARAMETER for what is missing or of the wrong type; ranges are checked by Engine::open.
EngineParameters engineParametersOf(const Napi::Object& options);

/// "rvl" or "raw"; undefined gives kNone.
Encoding encodingOf(const Napi::Object& object, const char* name);

}  // namespace depthwatt
