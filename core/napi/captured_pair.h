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
PixelFormat formatOf(const Napi::Object& object, const char* name);

/// Returns a copy of an Int32Array property; empty if it is undefined.
std::vector<int32_t> mapOf(const Napi::Object& object, const char* name);

/// Reads sizes, formats, strides and rectification maps into the members of the same names. The caller's check()
/// verifies their combination.
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

}  // namespace depthwatt
