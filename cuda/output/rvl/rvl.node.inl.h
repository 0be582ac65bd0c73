// SPDX-License-Identifier: Apache-2.0
// native.stages.rvlEncode({variant: "reference" | any instruction set: "scalar" or the fastest form, pixels: Uint16Array | Int16Array,
//   body: Uint8Array}) -> bytes
// native.stages.rvlDecode({body: Uint8Array, pixels: Uint16Array}) -> whether it is valid
#include "rvl.h"

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

template <class Array>
Array readArray(const Napi::Object& call, const char* name, napi_typedarray_type type, const char* expected) {
  const auto value = call.Get(name);
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) {
    throw errorFrom(call.Env(), Status::error(Code::kParameter, "Expected %s to be %s.", name, expected));
  }
  return value.As<Array>();
}

Napi::Value encode(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const bool reference = variant.isReference;
  const bool scalar = !reference && variant.set == InstructionSet::kScalar;
  const RvlForm form = scalar ? RvlForm::kScalar : fastestRvlForm();
  auto body = readArray<Napi::Uint8Array>(call, "body", napi_uint8_array, "a Uint8Array");
  const bool isSigned = call.Get("pixels").IsTypedArray() &&
                        call.Get("pixels").As<Napi::TypedArray>().TypedArrayType() == napi_int16_array;
  const size_t pixels =
      call.Get("pixels").IsTypedArray() ? call.Get("pixels").As<Napi::TypedArray>().ElementLength() : 0;
  if (body.ByteLength() < rvlBound(pixels)) {
    throw errorFrom(info.Env(), Status::error(Code::kParameter, "Expected body to hold %zu bytes, got %zu.",
                                              rvlBound(pixels), body.ByteLength()));
  }
  size_t bytes = 0;
  if (isSigned && reference) {
    throw errorFrom(info.Env(),
                    Status::error(Code::kParameter, "Expected a Uint16Array: the definition knows no sign."));
  }
  if (isSigned) {
    const auto in = call.Get("pixels").As<Napi::Int16Array>();
    bytes = rvlEncodeDisparity(in.Data(), pixels, body.Data(), form);
  } else {
    const auto in = readArray<Napi::Uint16Array>(call, "pixels", napi_uint16_array, "a Uint16Array or an Int16Array");
    bytes =
        reference ? rvlReference(in.Data(), pixels, body.Data()) : rvlEncodeDepth(in.Data(), pixels, body.Data(), form);
  }
  return Napi::Number::New(info.Env(), static_cast<double>(bytes));
}

Napi::Value decode(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  auto body = readArray<Napi::Uint8Array>(call, "body", napi_uint8_array, "a Uint8Array");
  auto pixels = readArray<Napi::Uint16Array>(call, "pixels", napi_uint16_array, "a Uint16Array");
  return Napi::Boolean::New(info.Env(),
                            rvlDecode(body.Data(), body.ByteLength(), pixels.Data(), pixels.ElementLength()));
}

}  // namespace

void addRvl(Napi::Env env, Napi::Object stages) {
  stages.Set("rvlEncode", Napi::Function::New(env, encode, "rvlEncode"));
  stages.Set("rvlDecode", Napi::Function::New(env, decode, "rvlDecode"));
}

}  // namespace depthwatt
