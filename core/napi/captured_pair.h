// SPDX-License-Identifier: Apache-2.0
// Reads the memory layout and rectification of a captured pair: options that the engine and the rig alignment share.
#pragma once

#include <napi.h>

#include <cstdint>
#include <vector>

#include "../pixel_format.h"
#include "arguments.h"

namespace depthwatt {

/// Returns a property that names a pixel format.
PixelFormat readFormat(const Napi::Object& object, const char* name);

/// Returns a copy of an Int32Array property; empty if it is undefined.
std::vector<int32_t> readMap(const Napi::Object& object, const char* name);

/// Reads sizes, formats, strides and rectification maps into the members of the same names. The caller's check()
/// verifies their combination.
template <typename Parameters>
void readInput(const Napi::Object& options, Parameters& p) {
  p.inputWidth = readInteger(options, "inputWidth", -kAnyInt, kAnyInt);
  p.inputHeight = readInteger(options, "inputHeight", -kAnyInt, kAnyInt);
  p.width = readInteger(options, "width", -kAnyInt, kAnyInt);
  p.height = readInteger(options, "height", -kAnyInt, kAnyInt);
  p.leftFormat = readFormat(options, "leftFormat");
  p.rightFormat = readFormat(options, "rightFormat");
  p.leftStrideBytes = static_cast<size_t>(readInteger(options, "leftStrideBytes", 1, kAnyInt));
  p.rightStrideBytes = static_cast<size_t>(readInteger(options, "rightStrideBytes", 1, kAnyInt));
  p.leftMap = readMap(options, "leftMap");
  p.rightMap = readMap(options, "rightMap");
}

}  // namespace depthwatt
