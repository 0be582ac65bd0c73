// SPDX-License-Identifier: Apache-2.0
// Reads the options of a captured pair; see captured_pair.h.
#include "captured_pair.h"

#include <new>
#include <string>

#include "errors.h"

namespace depthwatt {

PixelFormat readFormat(const Napi::Object& object, const char* name) {
  PixelFormat format = PixelFormat::kGrey;
  const std::string text = readString(object, name);
  if (!findPixelFormat(text.c_str(), &format)) {
    throw errorFrom(object.Env(), Status::error(Code::kParameter, "Expected a pixel format for %s, got '%.40s'.", name,
                                                text.c_str()));
  }
  return format;
}

std::vector<int32_t> readMap(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (value.IsUndefined()) return {};
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_int32_array) {
    throw errorFrom(object.Env(), Status::error(Code::kParameter, "Expected an Int32Array for %s.", name));
  }
  auto array = value.As<Napi::Int32Array>();
  try {
    return {array.Data(), array.Data() + array.ElementLength()};
  } catch (const std::bad_alloc&) {
    throw errorFrom(object.Env(),
                    Status::error(Code::kMemoryExhausted, "Expected %zu MB of memory for %s, the system gave none.",
                                  array.ByteLength() / 1000000 + 1, name));
  }
}

}  // namespace depthwatt
