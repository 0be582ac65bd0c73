// SPDX-License-Identifier: Apache-2.0
// Binds the writer of a ring of frames: conversions only.
#include "binding.h"

#include <utility>

#include "frame_ring.h"
#include "../napi/arguments.h"
#include "../napi/errors.h"

namespace depthwatt {
namespace {

/// Returns the bytes of any typed array, or throws.
std::pair<const uint8_t*, size_t> bytesAt(const Napi::CallbackInfo& info, size_t place, const char* what) {
  if (info.Length() <= place || !info[place].IsTypedArray()) {
    throwUnlessOk(info.Env(), Status::error(Code::kParameter, "Expected %s as a typed array.", what));
  }
  const auto array = info[place].As<Napi::TypedArray>();
  const auto* base = static_cast<const uint8_t*>(array.ArrayBuffer().Data());
  return {base == nullptr ? nullptr : base + array.ByteOffset(), array.ByteLength()};
}

class RingWriter : public Napi::ObjectWrap<RingWriter> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(
        env, "RingWriter",
        {InstanceMethod<&RingWriter::publish>("publish"), InstanceMethod<&RingWriter::offer>("offer"),
         InstanceMethod<&RingWriter::close>("close"), InstanceAccessor<&RingWriter::published>("published"),
         InstanceAccessor<&RingWriter::bodyBytes>("bodyBytes")});
  }

  explicit RingWriter(const Napi::CallbackInfo& info) : Napi::ObjectWrap<RingWriter>(info) {
    const Napi::Object options = objectAt(info, 0, "options of a ring");
    const auto slots = static_cast<uint32_t>(readInteger(options, "slots", 2, static_cast<int32_t>(kMaxRingSlots)));
    const double bytes = readNumber(options, "bodyBytes");
    if (!(bytes >= 1 && bytes <= 0x1p32)) {
      throwUnlessOk(info.Env(), Status::error(Code::kParameter, "Expected bodyBytes from 1 to 2^32, got %g.", bytes));
    }
    throwUnlessOk(info.Env(), ring_.open(slots, static_cast<size_t>(bytes)));
  }

 private:
  Napi::Value publish(const Napi::CallbackInfo& info) {
    const auto [header, headerBytes] = bytesAt(info, 0, "the header");
    const auto [body, bodyBytes] = bytesAt(info, 1, "the body");
    const bool isDisparity = info[1].As<Napi::TypedArray>().TypedArrayType() == napi_int16_array &&
                             info[2].IsBoolean() && info[2].As<Napi::Boolean>().Value();
    const BodyForm form = isDisparity ? BodyForm::kDisparityCounts : BodyForm::kCopy;
    throwUnlessOk(info.Env(), ring_.publish(header, headerBytes, body, bodyBytes, form));
    return info.Env().Undefined();
  }

  Napi::Value offer(const Napi::CallbackInfo& info) {
    const double socket = numberAt(info, 0, "a socket");
    const auto [reply, replyBytes] = bytesAt(info, 1, "the reply");
    if (!(socket >= 0 && socket <= 0x7fffffff)) {
      throwUnlessOk(info.Env(),
                    Status::error(Code::kParameter, "Expected the descriptor of a socket, got %g.", socket));
    }
    throwUnlessOk(info.Env(), ring_.offer(static_cast<int>(socket), reply, replyBytes));
    return info.Env().Undefined();
  }

  Napi::Value close(const Napi::CallbackInfo& info) {
    ring_.close();
    return info.Env().Undefined();
  }

  Napi::Value published(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(ring_.published()));
  }
  Napi::Value bodyBytes(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(ring_.bodyCapacity()));
  }

  FrameRing ring_;
};

}  // namespace

void addRingWriter(Napi::Env env, Napi::Object exports) { exports.Set("RingWriter", RingWriter::define(env)); }

}  // namespace depthwatt
