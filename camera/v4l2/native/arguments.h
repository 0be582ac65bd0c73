// SPDX-License-Identifier: Apache-2.0
// Reads JavaScript arguments. Throws INVALID_ARGUMENT with the argument's name if one is missing, out of range or of
// the wrong type.
#pragma once

#include <napi.h>

#include <cstdint>
#include <string>

namespace v4l2camera {

/// Returns argument `place` as an object. Messages call it `what`.
Napi::Object objectAt(const Napi::CallbackInfo& info, size_t place, const char* what);
/// Returns argument `place` as text.
std::string textAt(const Napi::CallbackInfo& info, size_t place, const char* what);
/// Returns argument `place` as a finite number.
double numberAt(const Napi::CallbackInfo& info, size_t place, const char* what);

/// Returns a whole-number property of `object` within [low, high], or `fallback` if the property is undefined.
int32_t readInteger(const Napi::Object& object, const char* name, int32_t low, int32_t high, int32_t fallback);
/// Returns a finite-number property of `object`.
double readNumber(const Napi::Object& object, const char* name);
std::string readString(const Napi::Object& object, const char* name);

/// Returns an index into a list of `count`; messages call it `what`. Only whole numbers from 0 to count - 1 are
/// accepted, so NaN is not read as 0.
int32_t readIndex(const Napi::Value& value, const char* what, int32_t count);

/// Rejects memory that JavaScript can shrink while one of our threads uses it.
void requireFixedSize(Napi::ArrayBuffer buffer, const char* what);

}  // namespace v4l2camera
