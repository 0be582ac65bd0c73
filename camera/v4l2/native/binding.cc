// SPDX-License-Identifier: Apache-2.0
// The addon's functions: clocks(), counter(), and describe(), identify() and open(), which run off the JavaScript thread and
// return promises.
#include "binding.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "status_error.h"
#include "camera_handle.h"
#include "convert.h"
#include "counter.h"
#include "jpeg.h"

namespace v4l2camera {
namespace {

/// Returns the kernel, or the in-memory driver that a test passes as an external.
const VideoSystem* readSystem(const Napi::Value& value) {
  return value.IsExternal() ? value.As<Napi::External<const VideoSystem>>().Data() : &kernelVideoSystem();
}

uint32_t readFourcc(const Napi::Object& options) {
  if (options.Get("fourcc").IsUndefined()) return 0;
  const std::string text = readString(options, "fourcc");
  if (text.size() < 4) {
    throwUnlessOk(options.Env(), Status::error(Code::kParameter, "Expected four letters for fourcc, got \"%s\".",
                                               text.substr(0, 8).c_str()));
  }
  const uint32_t fourcc = v4l2_fourcc(text[0], text[1], text[2], text[3]);
  return text.substr(4) == "-BE" ? fourcc | (1u << 31) : fourcc;
}

Decoding readDecoding(const Napi::Object& options) {
  if (options.Get("decode").IsUndefined()) return Decoding::kGrey;
  const std::string text = readString(options, "decode");
  if (text == "rgb") return Decoding::kColours;
  if (text == "none") return Decoding::kNone;
  if (text != "grey") {
    throwUnlessOk(options.Env(), Status::error(Code::kParameter, "Expected grey, rgb or none for decode, got \"%s\".",
                                               text.substr(0, 8).c_str()));
  }
  return Decoding::kGrey;
}

double readRate(const Napi::Object& options) {
  if (options.Get("rateHz").IsUndefined()) return 0;
  const double rate = readNumber(options, "rateHz");
  if (rate < 0.001 || rate > 100000) {
    throwUnlessOk(options.Env(),
                  Status::error(Code::kParameter, "Expected 0.001 to 100000 Hz for rateHz, got %g.", rate));
  }
  return rate;
}

/// Rejects a path with a NUL inside, which the kernel would read as its end.
std::string withoutZero(Napi::Env env, std::string path) {
  if (path.find('\0') != std::string::npos) {
    throwUnlessOk(env, Status::error(Code::kParameter, "Expected a path without a zero byte."));
  }
  return path;
}

std::vector<std::pair<std::string, int64_t>> readFormatControls(const Napi::Object& options) {
  std::vector<std::pair<std::string, int64_t>> controls;
  const Napi::Value value = options.Get("formatControls");
  if (!value.IsObject()) return controls;
  const auto object = value.As<Napi::Object>();
  const Napi::Array names = object.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const std::string name = names.Get(i).ToString().Utf8Value();
    const double number = readNumber(object, name.c_str());
    if (std::fabs(number) > 9007199254740991.0 || number != std::floor(number)) {
      throwUnlessOk(object.Env(), Status::error(Code::kParameter, "Expected a whole number for %.60s, got %g.",
                                                name.c_str(), number));
    }
    controls.emplace_back(name, static_cast<int64_t>(number));
  }
  return controls;
}

CaptureOptions readOptions(const Napi::Object& object) {
  CaptureOptions options;
  options.path = withoutZero(object.Env(), readString(object, "path"));
  options.format.fourcc = readFourcc(object);
  options.format.width = static_cast<uint32_t>(readInteger(object, "width", 1, 32768, 0));
  options.format.height = static_cast<uint32_t>(readInteger(object, "height", 1, 32768, 0));
  options.format.rateHz = readRate(object);
  options.formatControls = readFormatControls(object);
  options.bufferCount = readInteger(object, "buffers", kFewestBuffers, kMaxBuffers, 8);
  options.ownMemory = object.Get("ownMemory").ToBoolean().Value();
  options.separatePlanes = object.Get("separatePlanes").ToBoolean().Value();
  options.exportBuffers = object.Get("exportBuffers").ToBoolean().Value();
  options.keepMapped = object.Get("keepMapped").ToBoolean().Value();
  options.decoding = readDecoding(object);
  if (!object.Get("userBuffers").IsArray()) return options;
  const auto list = object.Get("userBuffers").As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length() && i < kMaxBuffers; ++i) {
    const Napi::Value item = list.Get(i);
    if (!item.IsTypedArray() || item.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
      throwUnlessOk(object.Env(), Status::error(Code::kParameter, "Expected a list of Uint8Array for userBuffers."));
    }
    auto array = item.As<Napi::Uint8Array>();
    requireFixedSize(array.ArrayBuffer(), "userBuffers");
    options.userBuffers.push_back({array.Data(), array.ByteLength(), -1, false});
  }
  return options;
}

/// A job on libuv's pool that resolves a promise: drivers may take hundreds of milliseconds to answer.
class PromiseWorker : public Napi::AsyncWorker {
 public:
  explicit PromiseWorker(Napi::Env env) : Napi::AsyncWorker(env), done_(Napi::Promise::Deferred::New(env)) {}
  Napi::Promise start() {
    Queue();
    return done_.Promise();
  }

 protected:
  void Execute() override { status_ = work(); }
  void OnOK() override {
    if (status_.ok()) {
      done_.Resolve(result());
    } else {
      done_.Reject(errorFrom(Env(), status_).Value());
    }
  }
  virtual Status work() = 0;
  virtual Napi::Value result() = 0;

 private:
  Napi::Promise::Deferred done_;
  Status status_;
};

/// Describes a device, and unless `identityOnly` its formats and controls: up to a thousand calls, which some cameras
/// answer slowly.
class DescribeWorker : public PromiseWorker {
 public:
  DescribeWorker(Napi::Env env, std::string path, const VideoSystem* system, bool identityOnly)
      : PromiseWorker(env), path_(std::move(path)), system_(system), identityOnly_(identityOnly) {}

 protected:
  Status work() override {
    Device device;
    if (Status status = device.open(*system_, path_); !status.ok()) return status;
    identity_ = device.identity();
    if (identityOnly_ || !identity_.captures()) return {};
    formats_ = enumerateFormats(device);
    controls_ = enumerateControls(device);
    return {};
  }
  Napi::Value result() override {
    Napi::Object description = toJs(Env(), identity_, path_);
    if (identityOnly_) return description;
    description.Set("formats", toJs(Env(), formats_));
    description.Set("controls", toJs(Env(), controls_));
    return description;
  }

 private:
  std::string path_;
  const VideoSystem* system_;
  bool identityOnly_;
  Identity identity_;
  std::vector<OfferedFormat> formats_;
  std::vector<Control> controls_;
};

class OpenWorker : public PromiseWorker {
 public:
  OpenWorker(Napi::Env env, CaptureOptions options, const VideoSystem* system, const Napi::Value& userBuffers)
      : PromiseWorker(env), options_(std::move(options)), system_(system), capture_(std::make_unique<Capture>()) {
    if (userBuffers.IsArray()) userBuffers_ = Napi::Persistent(userBuffers.As<Napi::Array>());
  }

 protected:
  Status work() override {
    Status status = capture_->open(*system_, options_);
    // Closed here rather than by the destructor on the JavaScript thread, because a driver may be slow.
    if (!status.ok()) capture_->stop();
    return status;
  }
  Napi::Value result() override {
    const Napi::Array buffers = userBuffers_.IsEmpty() ? Napi::Array() : userBuffers_.Value();
    return std::make_shared<CameraHandle>(Env(), std::move(capture_), buffers)->exportTo(Env());
  }

 private:
  CaptureOptions options_;
  const VideoSystem* system_;
  std::unique_ptr<Capture> capture_;
  Napi::Reference<Napi::Array> userBuffers_;
};

Napi::Value describe(const Napi::CallbackInfo& info) {
  auto* worker =
      new DescribeWorker(info.Env(), withoutZero(info.Env(), textAt(info, 0, "a path")), readSystem(info[1]), false);
  return worker->start();
}

Napi::Value identify(const Napi::CallbackInfo& info) {
  auto* worker =
      new DescribeWorker(info.Env(), withoutZero(info.Env(), textAt(info, 0, "a path")), readSystem(info[1]), true);
  return worker->start();
}

int64_t readClock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}
int64_t monotonicNs() { return readClock(CLOCK_MONOTONIC); }

Napi::BigInt nanoseconds(Napi::Env env, clockid_t clock) { return Napi::BigInt::New(env, readClock(clock)); }

Napi::Value clocks(const Napi::CallbackInfo& info) {
  auto now = Napi::Object::New(info.Env());
  now.Set("monotonicNs", nanoseconds(info.Env(), CLOCK_MONOTONIC));
  now.Set("realtimeNs", nanoseconds(info.Env(), CLOCK_REALTIME));
  return now;
}

Napi::Value counter(const Napi::CallbackInfo& info) {
  const CounterReading reading = readCounter();
  auto result = Napi::Object::New(info.Env());
  result.Set("monotonicNs", Napi::BigInt::New(info.Env(), reading.monotonicNs));
  result.Set("rawNs", Napi::BigInt::New(info.Env(), reading.rawNs));
  result.Set("bracketNs", Napi::Number::New(info.Env(), static_cast<double>(reading.bracketNs)));
  if (reading.unavailable == nullptr) {
    result.Set("counterNs", Napi::BigInt::New(info.Env(), reading.counterNs));
  } else {
    result.Set("unavailable", Napi::String::New(info.Env(), reading.unavailable));
  }
  return result;
}

/// Returns the shortest time of five decodings of a JPEG, nanoseconds.
Napi::Value timeDecoding(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Napi::Object call = objectAt(info, 0, "the call");
  const int32_t width = readInteger(call, "width", 1, 2048, 1), height = readInteger(call, "height", 1, 2048, 1);
  const bool colours = readDecoding(call) == Decoding::kColours;
  const Napi::Value value = call.Get("jpeg");
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    throwUnlessOk(env, Status::error(Code::kParameter, "Expected a Uint8Array for jpeg."));
  }
  const auto array = value.As<Napi::Uint8Array>();
  const std::vector<uint8_t> jpeg(array.Data(), array.Data() + array.ByteLength());
  std::vector<uint8_t> pixels(size_t{3} * static_cast<size_t>(width) * static_cast<size_t>(height));
  JpegDecoder decoder;
  throwUnlessOk(env, decoder.open());
  int64_t shortestNs = INT64_MAX;
  for (int32_t run = 0; run < 5; ++run) {
    const int64_t beforeNs = monotonicNs();
    if (decoder.decode(jpeg.data(), jpeg.size(), width, height, colours, pixels.data()) ==
        JpegDecoder::Result::kBroken) {
      throwUnlessOk(env, Status::error(Code::kParameter, "Expected a JPEG of %d x %d for jpeg.", width, height));
    }
    shortestNs = std::min(shortestNs, monotonicNs() - beforeNs);
  }
  return Napi::Number::New(env, static_cast<double>(shortestNs));
}

Napi::Value open(const Napi::CallbackInfo& info) {
  const Napi::Object object = objectAt(info, 0, "options");
  CaptureOptions options = readOptions(object);
  auto* worker =
      new OpenWorker(info.Env(), std::move(options), readSystem(object.Get("system")), object.Get("userBuffers"));
  return worker->start();
}

}  // namespace

void addVideo(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, auto function) {
    exports.Set(name, Napi::Function::New(env, function, name));
  };
  add("clocks", clocks);
  add("counter", counter);
  add("describe", describe);
  add("identify", identify);
  add("open", open);
  add("timeDecoding", timeDecoding);
}

}  // namespace v4l2camera
