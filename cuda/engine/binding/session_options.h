// SPDX-License-Identifier: Apache-2.0
// Reads the EngineOptions of native.ts into EngineParameters.
#pragma once

#include <napi.h>

#include "../../../core/napi/captured_pair.h"
#include "../engine.h"

namespace depthwatt {

/// Throws ENGINE_PARAMETER if an option is missing or of the wrong type. Engine::open checks ranges.
EngineParameters readEngineParameters(const Napi::Object& options);

/// Reads {algorithm, parameters?}. Parameters that are not given get their default.
MatcherChoice readMatcherChoice(const Napi::Object& match, bool halfResolution);

/// Reads the properties frame ("camera" or "robot") and element ("float32" or "int16").
void readPointsForm(const Napi::Object& object, PointsParameters* parameters);

/// Reads the properties frame ("camera" or "robot"), cx and cy.
void readVoxelsView(const Napi::Object& object, VoxelsParameters* parameters);

/// Reads width, height, matrix, grid, gridX, gridY, gridWidth and gridHeight.
void readRegistration(const Napi::Object& object, RegistrationParameters* parameters);

/// Reads "rvl" or "raw"; undefined gives kNone.
Encoding readEncoding(const Napi::Object& object, const char* name);

}  // namespace depthwatt
