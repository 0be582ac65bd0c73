// SPDX-License-Identifier: Apache-2.0
// Reads JavaScript arguments; what is missing, of the wrong type or too small becomes ENGINE_PARAMETER with its name.
#pragma once

#include <napi.h>

#include <string>

#include "../image.h"

namespace depthwatt {

/// A bound for whole numbers that are judged elsewhere.
constexpr int32_t kAnyInt = 1 << 30;

/// A whole number property of `object` within [low, high].
int32_t integerOf(const Napi::Object& object, const char* name, int32_t low, int32_t high);
/// The same, or `fallback` where the property is undefined.
int32_t integerOf(const Napi::Object& object, const char* name, int32_t low, int32_t high, int32_t fallback);
double numberOf(const Napi::Object& object, const char* name);
bool booleanOf(const Napi::Object& object, const char* name);
std::string stringOf(const Napi::Object& object, const char* name);
/// "" where the property is undefined.
std::string optionalStringOf(const Napi::Object& object, const char* name);

/// The typed array property `name` as an image of the properties width, height and, if given, strideBytes.
/// T must be the array's element type and the array must hold all rows.
template <class T>
ImageView<T> imageOf(const Napi::Object& object, const char* name);

/// The same with the size given.
template <class T>
ImageView<T> imageOf(const Napi::Object& object, const char* name, int32_t width, int32_t height,
                     size_t strideBytes);

}  // namespace depthwatt
