// SPDX-License-Identifier: Apache-2.0
// Reads JavaScript arguments; see arguments.h.
#include "arguments.h"

#include <cmath>

#include "status_error.h"

namespace v4l2camera {
namespace {

Napi::Error parameterError(Napi::Env env, const char* name, const char* expected) {
  return errorFrom(env, Status::error(Code::kParameter, "Expected %s for %s.", expected, name));
}

/// Returns the value as text for a message. Symbols and objects are not converted to text, because that would run
/// JavaScript or throw.
std::string describeValue(const Napi::Value& value) {
  if (value.IsNumber()) return value.ToString().Utf8Value().substr(0, 40);
  if (value.IsString()) return "'" + value.As<Napi::String>().Utf8Value().substr(0, 40) + "'";
  return value.IsUndefined() ? "undefined" : "no number";
}

double numberIn(const Napi::Value& value) { return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN; }

}  // namespace

Napi::Object objectAt(const Napi::CallbackInfo& info, size_t place, const char* what) {
  if (!info[place].IsObject()) throw parameterError(info.Env(), what, "an object");
  return info[place].As<Napi::Object>();
}

std::string textAt(const Napi::CallbackInfo& info, size_t place, const char* what) {
  if (!info[place].IsString()) throw parameterError(info.Env(), what, "a string");
  return info[place].As<Napi::String>().Utf8Value();
}

double numberAt(const Napi::CallbackInfo& info, size_t place, const char* what) {
  const double number = numberIn(info[place]);
  if (!std::isfinite(number)) throw parameterError(info.Env(), what, "a finite number");
  return number;
}

int32_t readInteger(const Napi::Object& object, const char* name, int32_t low, int32_t high, int32_t fallback) {
  const Napi::Value value = object.Get(name);
  if (value.IsUndefined()) return fallback;
  const double number = numberIn(value);
  if (!(number >= low && number <= high) || number != std::floor(number)) {
    throw errorFrom(object.Env(),
                    Status::error(Code::kParameter, "Expected a whole number from %d to %d for %s, got %s.", low, high,
                                  name, describeValue(value).c_str()));
  }
  return static_cast<int32_t>(number);
}

double readNumber(const Napi::Object& object, const char* name) {
  const double number = numberIn(object.Get(name));
  if (!std::isfinite(number)) throw parameterError(object.Env(), name, "a finite number");
  return number;
}

std::string readString(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (!value.IsString()) throw parameterError(object.Env(), name, "a string");
  return value.As<Napi::String>().Utf8Value();
}

int32_t readIndex(const Napi::Value& value, const char* what, int32_t count) {
  const double number = numberIn(value);
  if (!(number >= 0 && number < count) || number != std::floor(number)) {
    throw errorFrom(value.Env(), Status::error(Code::kParameter, "Expected %s from 0 to %d, got %s.", what, count - 1,
                                               describeValue(value).c_str()));
  }
  return static_cast<int32_t>(number);
}

void requireFixedSize(Napi::ArrayBuffer buffer, const char* what) {
  // `resizable` is undefined in versions of V8 without resizable buffers.
  if (buffer.Get("resizable").ToBoolean()) throw parameterError(buffer.Env(), what, "memory of a fixed size");
}

}  // namespace v4l2camera
