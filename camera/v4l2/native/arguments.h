// SPDX-License-Identifier: Apache-2.0
// Reads JavaScript arguments; what is missing, of the wrong type or out of range becomes INVALID_ARGUMENT with its name.
#pragma once

#include <napi.h>

#include <cstdint>
#include <string>

namespace v4l2camera {

/// The parameter at `place` as an object, which `what` names in the message.
Napi::Object objectAt(const Napi::CallbackInfo& info, size_t place, const char* what);
/// The parameter at `place` as text.
std::string textAt(const Napi::CallbackInfo& info, size_t place, const char* what);
/// The parameter at `place`, a finite number.
double numberAt(const Napi::CallbackInfo& info, size_t place, const char* what);

/// A whole number property of `object` within [low, high], or `fallback` where the property is undefined.
int32_t integerOf(const Napi::Object& object, const char* name, int32_t low, int32_t high, int32_t fallback);
/// A finite number property of `object`.
double numberOf(const Napi::Object& object, const char* name);
std::string stringOf(const Napi::Object& object, const char* name);

/// A place in a list of `count`, which `what` names in the message: whole numbers from 0 to count - 1 alone, so that NaN is
/// not the first of them.
int32_t placeOf(const Napi::Value& value, const char* what, int32_t count);

/// For memory that a thread of ours uses after the call: one that JavaScript can shrink meanwhile is refused.
void requireFixedSize(Napi::ArrayBuffer buffer, const char* what);

}  // namespace v4l2camera
