// SPDX-License-Identifier: Apache-2.0
// Reads JavaScript arguments; what is missing, of the wrong type or too small becomes ENGINE_PARAMETER with its name.
#pragma once

#include <napi.h>

#include <string>

#include "../image.h"

namespace depthwatt {

/// A bound for whole numbers that are judged elsewhere.
constexpr int32_t kAnyInt = 1 << 30;

/// The parameter at `place` as an object, which `what` names in the message.
Napi::Object objectAt(const Napi::CallbackInfo& info, size_t place, const char* what);
/// The parameter at `place` as text.
std::string textAt(const Napi::CallbackInfo& info, size_t place, const char* what);

/// The parameter at `place`, a finite number.
double numberAt(const Napi::CallbackInfo& info, size_t place, const char* what);

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
ImageView<T> imageOf(const Napi::Object& object, const char* name, int32_t width, int32_t height, size_t strideBytes);

/// `count` elements of the typed array property `name`; T must be its element type. Sizes are 64 bit: a product of image sides
/// and disparities does not fit 32.
template <class T>
T* elementsOf(const Napi::Object& object, const char* name, size_t count);

/// A place in a list of `count`, which `what` names in the message: whole numbers from 0 to count - 1 alone, so that NaN is
/// not the first of them.
int32_t placeOf(const Napi::Value& value, const char* what, int32_t count);

/// For memory that a thread of ours uses after the call: one that JavaScript can shrink meanwhile is refused.
void requireFixedSize(Napi::ArrayBuffer buffer, const char* what);

}  // namespace depthwatt
