// SPDX-License-Identifier: Apache-2.0
// EngineOptions of native.ts as EngineParameters.
#pragma once

#include <napi.h>

#include "../../core/napi/arguments.h"
#include "../engine.h"

namespace depthwatt {

/// Throws ENGINE_PARAMETER for what is missing or of the wrong type; ranges are checked by Engine::open.
EngineParameters engineParametersOf(const Napi::Object& options);

/// {algorithm, parameters?}: the matcher with the values that are given, each other one with its default.
MatcherChoice matcherChoiceOf(const Napi::Object& match, bool halfResolution);

/// Properties frame ("camera" or "robot") and element ("float32" or "int16").
void pointsFormOf(const Napi::Object& object, PointsParameters* parameters);

/// A property that names a pixel format.
PixelFormat formatOf(const Napi::Object& object, const char* name);

/// A copy of an Int32Array property; empty where it is undefined.
std::vector<int32_t> mapOf(const Napi::Object& object, const char* name);

/// Sizes, formats, strides and maps of what comes in, for the engine and for who looks at the same pairs; whether they
/// suit each other the callee's check() says.
template <typename Parameters>
void readInput(const Napi::Object& options, Parameters& p) {
  p.inputWidth = integerOf(options, "inputWidth", -kAnyInt, kAnyInt);
  p.inputHeight = integerOf(options, "inputHeight", -kAnyInt, kAnyInt);
  p.width = integerOf(options, "width", -kAnyInt, kAnyInt);
  p.height = integerOf(options, "height", -kAnyInt, kAnyInt);
  p.leftFormat = formatOf(options, "leftFormat");
  p.rightFormat = formatOf(options, "rightFormat");
  p.leftStrideBytes = static_cast<size_t>(integerOf(options, "leftStrideBytes", 1, kAnyInt));
  p.rightStrideBytes = static_cast<size_t>(integerOf(options, "rightStrideBytes", 1, kAnyInt));
  p.leftMap = mapOf(options, "leftMap");
  p.rightMap = mapOf(options, "rightMap");
}

/// "rvl" or "raw"; undefined gives kNone.
Encoding encodingOf(const Napi::Object& object, const char* name);

}  // namespace depthwatt
