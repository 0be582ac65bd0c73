// SPDX-License-Identifier: Apache-2.0
// Reads JavaScript arguments. Throws ENGINE_PARAMETER with the argument's name if one is missing, too small or of the
// wrong type.
#pragma once

#include <napi.h>

#include <string>

#include "../image.h"

namespace depthwatt {

/// The bound for whole numbers whose range is checked elsewhere.
constexpr int32_t kAnyInt = 1 << 30;

/// Returns argument `place` as an object. Messages call it `what`.
Napi::Object objectAt(const Napi::CallbackInfo& info, size_t place, const char* what);
/// Returns argument `place` as text.
std::string textAt(const Napi::CallbackInfo& info, size_t place, const char* what);

/// Returns argument `place` as a finite number.
double numberAt(const Napi::CallbackInfo& info, size_t place, const char* what);

/// Returns a whole-number property of `object` within [low, high].
int32_t readInteger(const Napi::Object& object, const char* name, int32_t low, int32_t high);
/// Returns the same, or `fallback` if the property is undefined.
int32_t readInteger(const Napi::Object& object, const char* name, int32_t low, int32_t high, int32_t fallback);
double readNumber(const Napi::Object& object, const char* name);
bool readBoolean(const Napi::Object& object, const char* name);
std::string readString(const Napi::Object& object, const char* name);
/// Returns a text property, "" if it is undefined.
std::string readOptionalString(const Napi::Object& object, const char* name);

/// Returns the typed array property `name` as an image with the properties width, height and, if given, strideBytes. T
/// must be the array's element type, and the array must hold all rows.
template <class T>
ImageView<T> readImage(const Napi::Object& object, const char* name);

/// Returns the same with a given size.
template <class T>
ImageView<T> readImage(const Napi::Object& object, const char* name, int32_t width, int32_t height, size_t strideBytes);

/// Returns `count` elements of the typed array property `name`, whose element type must be T. `count` has 64 bits
/// because a product of image sides and disparities does not fit 32.
template <class T>
T* readElements(const Napi::Object& object, const char* name, size_t count);

/// Returns an index into a list of `count`; messages call it `what`. Only whole numbers from 0 to count - 1 are
/// accepted, so NaN is not read as 0.
int32_t readIndex(const Napi::Value& value, const char* what, int32_t count);

/// Rejects memory that JavaScript can shrink while one of our threads uses it.
void requireFixedSize(Napi::ArrayBuffer buffer, const char* what);

}  // namespace depthwatt
