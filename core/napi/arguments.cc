// SPDX-License-Identifier: Apache-2.0
// Reads JavaScript arguments; see arguments.h.
#include "arguments.h"

#include <cmath>

#include "errors.h"

namespace depthwatt {
namespace {

template <class T>
constexpr napi_typedarray_type kArrayType = napi_uint8_array;
template <>
constexpr napi_typedarray_type kArrayType<int16_t> = napi_int16_array;
template <>
constexpr napi_typedarray_type kArrayType<uint16_t> = napi_uint16_array;
template <>
constexpr napi_typedarray_type kArrayType<int32_t> = napi_int32_array;
template <>
constexpr napi_typedarray_type kArrayType<uint32_t> = napi_uint32_array;
template <>
constexpr napi_typedarray_type kArrayType<float> = napi_float32_array;
template <>
constexpr napi_typedarray_type kArrayType<double> = napi_float64_array;

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

template <class Element>
Element* readBytes(const Napi::Object& object, const char* name, size_t needed) {
  const Napi::Value value = object.Get(name);
  const auto arrayType = value.IsTypedArray() ? value.As<Napi::TypedArray>().TypedArrayType() : napi_int8_array;
  if (arrayType != kArrayType<Element>) {
    throw parameterError(object.Env(), name, "a typed array of the element type that native.ts names");
  }
  auto array = value.As<Napi::TypedArrayOf<Element>>();
  // The length is 0 if the array's buffer was transferred.
  if (array.ByteLength() < needed) {
    throw errorFrom(object.Env(), Status::error(Code::kParameter, "Expected at least %zu bytes for %s, got %zu.",
                                                needed, name, array.ByteLength()));
  }
  return array.Data();
}

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
  const double number = info[place].IsNumber() ? info[place].As<Napi::Number>().DoubleValue() : NAN;
  if (!std::isfinite(number)) throw parameterError(info.Env(), what, "a finite number");
  return number;
}

int32_t readInteger(const Napi::Object& object, const char* name, int32_t low, int32_t high) {
  const Napi::Value value = object.Get(name);
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (!(number >= low && number <= high) || number != std::floor(number)) {
    throw errorFrom(object.Env(),
                    Status::error(Code::kParameter, "Expected a whole number from %d to %d for %s, got %s.", low, high,
                                  name, describeValue(value).c_str()));
  }
  return static_cast<int32_t>(number);
}

int32_t readInteger(const Napi::Object& object, const char* name, int32_t low, int32_t high, int32_t fallback) {
  return object.Get(name).IsUndefined() ? fallback : readInteger(object, name, low, high);
}

double readNumber(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (!value.IsNumber() || !std::isfinite(value.As<Napi::Number>().DoubleValue())) {
    throw parameterError(object.Env(), name, "a finite number");
  }
  return value.As<Napi::Number>().DoubleValue();
}

bool readBoolean(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (!value.IsBoolean()) throw parameterError(object.Env(), name, "true or false");
  return value.As<Napi::Boolean>().Value();
}

std::string readString(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (!value.IsString()) throw parameterError(object.Env(), name, "a string");
  return value.As<Napi::String>().Utf8Value();
}

std::string readOptionalString(const Napi::Object& object, const char* name) {
  return object.Get(name).IsUndefined() ? std::string() : readString(object, name);
}

template <class T>
ImageView<T> readImage(const Napi::Object& object, const char* name) {
  const int32_t width = readInteger(object, "width", 1, 32768);
  const int32_t height = readInteger(object, "height", 1, 32768);
  const int32_t packed = width * static_cast<int32_t>(sizeof(T));
  const int32_t strideBytes = readInteger(object, "strideBytes", packed, 1 << 24, packed);
  return readImage<T>(object, name, width, height, static_cast<size_t>(strideBytes));
}

template <class T>
ImageView<T> readImage(const Napi::Object& object, const char* name, int32_t width, int32_t height,
                       size_t strideBytes) {
  const size_t needed = static_cast<size_t>(height - 1) * strideBytes + static_cast<size_t>(width) * sizeof(T);
  return {static_cast<T*>(readBytes<std::remove_const_t<T>>(object, name, needed)), width, height, strideBytes};
}

template <class T>
T* readElements(const Napi::Object& object, const char* name, size_t count) {
  return readBytes<std::remove_const_t<T>>(object, name, count * sizeof(T));
}

int32_t readIndex(const Napi::Value& value, const char* what, int32_t count) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
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

#define DEPTHWATT_IMAGE_OF(T)                                           \
  template ImageView<T> readImage<T>(const Napi::Object&, const char*); \
  template ImageView<T> readImage<T>(const Napi::Object&, const char*, int32_t, int32_t, size_t);
DEPTHWATT_IMAGE_OF(uint8_t)
DEPTHWATT_IMAGE_OF(const uint8_t)
DEPTHWATT_IMAGE_OF(int16_t)
DEPTHWATT_IMAGE_OF(const int16_t)
DEPTHWATT_IMAGE_OF(uint16_t)
DEPTHWATT_IMAGE_OF(const uint16_t)
DEPTHWATT_IMAGE_OF(int32_t)
DEPTHWATT_IMAGE_OF(const int32_t)
DEPTHWATT_IMAGE_OF(uint32_t)
DEPTHWATT_IMAGE_OF(const uint32_t)
DEPTHWATT_IMAGE_OF(float)
DEPTHWATT_IMAGE_OF(const float)
#undef DEPTHWATT_IMAGE_OF

template const uint8_t* readElements<const uint8_t>(const Napi::Object&, const char*, size_t);
template uint16_t* readElements<uint16_t>(const Napi::Object&, const char*, size_t);
template const uint16_t* readElements<const uint16_t>(const Napi::Object&, const char*, size_t);
template double* readElements<double>(const Napi::Object&, const char*, size_t);

}  // namespace depthwatt
