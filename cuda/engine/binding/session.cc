// SPDX-License-Identifier: Apache-2.0
// One engine with its threads and slots (frame_threads.h), and the JavaScript memory that they use. The threads wake
// the JavaScript loop through uv_async, which neither allocates nor queues; the loop then takes finished frames in the
// order of submission.
#include "session.h"

#include <uv.h>

#include <algorithm>
#include <cstring>

#include "../engine.h"
#include "../frame_threads.h"
#include "../registered_image.h"
#include "../../../core/napi/arguments.h"
#include "../../../core/napi/call.h"
#include "../../../core/napi/errors.h"
#include "../../output/voxels/voxels.h"
#include "session_options.h"

namespace depthwatt {
namespace {

constexpr size_t kHeadroomBytes = 128;  // ENCODED_HEADROOM_BYTES of native.ts
constexpr int kOutcomeNumbers = 4 + kDropCauses + kStageCount;

/// Opens an engine on a thread of Node's pool. Allocating its memory takes tens of milliseconds, during which another
/// engine may compute.
class EngineOpening : public Napi::AsyncWorker {
 public:
  EngineOpening(Napi::Env env, EngineParameters parameters)
      : Napi::AsyncWorker(env, "depthwatt.openEngine"), deferred_(env), parameters_(std::move(parameters)) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

 private:
  void Execute() override { status_ = Engine::open(parameters_, &engine_); }
  void OnOK() override {
    if (!status_.ok()) {
      deferred_.Reject(errorFrom(Env(), status_).Value());
      return;
    }
    auto* opened = new std::unique_ptr<Engine>(std::move(engine_));
    deferred_.Resolve(Napi::External<std::unique_ptr<Engine>>::New(
        Env(), opened, [](Napi::Env, std::unique_ptr<Engine>* kept) { delete kept; }));
  }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

  Napi::Promise::Deferred deferred_;
  EngineParameters parameters_;
  std::unique_ptr<Engine> engine_;
  Status status_;
};

class Session : public Napi::ObjectWrap<Session> {
 public:
  explicit Session(const Napi::CallbackInfo& info);
  ~Session() override { shutDown(); }  // must not throw: no Node-API call that can fail
  static Napi::Function define(Napi::Env env);

 private:
  void submit(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo&) {
    shutDown();
    inputMemory_.Reset();
    deliver();
  }
  Napi::Value info(const Napi::CallbackInfo& info);
  Napi::Value setRightMap(const Napi::CallbackInfo& info);
  Napi::Value outcomes(const Napi::CallbackInfo&) { return outcomes_.Value(); }

  void bindSlot(int slot, const Napi::Object& memory);
  void requireSlotMemory(int slot);
  void bindInput(const Napi::Value& list);
  const uint8_t* registeredInput(const Napi::Value& value) const;
  void deliver();
  double* outcomeNumbers(napi_env env) const;
  void shutDown();
  void keepLoopAlive();

  std::unique_ptr<Engine> engine_;
  int slotCount_ = 0;
  size_t leftBytes_ = 0, rightBytes_ = 0, registeredBytes_ = 0;
  FrameThreads frames_;
  bool closed_ = false;
  int outstanding_ = 0;  // submitted and not yet reported to JavaScript

  uv_async_t* async_ = nullptr;
  Napi::FunctionReference onDone_;
  Napi::Reference<Napi::Float64Array> outcomes_;
  Napi::Reference<Napi::Array> memory_;
  Napi::Reference<Napi::Array> inputMemory_;
  std::unique_ptr<Napi::AsyncContext> context_;
};

Session::Session(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Session>(info) {
  const Napi::Env env = info.Env();
  const Napi::Object options = objectAt(info, 0, "options");
  if (!info[1].IsArray() || !info[2].IsFunction()) {
    throw errorFrom(env, Status::error(Code::kParameter, "Expected options, a list of slots and a function."));
  }
  const auto memory = info[1].As<Napi::Array>();
  const EngineParameters parameters = readEngineParameters(options);
  slotCount_ = readInteger(options, "slots", 2, kMaxSlots);
  if (memory.Length() != static_cast<uint32_t>(slotCount_)) {
    throw errorFrom(
        env, Status::error(Code::kParameter, "Expected the memory of %d slots, got %u.", slotCount_, memory.Length()));
  }
  if (info[3].IsExternal()) {
    engine_ = std::move(*info[3].As<Napi::External<std::unique_ptr<Engine>>>().Data());
    if (engine_ == nullptr)
      throw errorFrom(env, Status::error(Code::kParameter, "Expected an engine that no session has yet."));
  } else {
    throwUnlessOk(env, Engine::open(parameters, &engine_));
  }
  // Ask the engine, not the options: a given engine may have been opened with others.
  leftBytes_ = inputBytes(engine_->parameters(), 0);
  rightBytes_ = inputBytes(engine_->parameters(), 1);
  registeredBytes_ = registeredInputBytes(engine_->parameters());
  for (int slot = 0; slot < slotCount_; ++slot) {
    const Napi::Value one = memory.Get(static_cast<uint32_t>(slot));
    if (!one.IsObject()) throw errorFrom(env, Status::error(Code::kParameter, "Expected an object for slot %d.", slot));
    bindSlot(slot, one.As<Napi::Object>());
  }
  bindInput(options.Get("inputMemory"));

  outcomes_ = Napi::Persistent(Napi::Float64Array::New(env, static_cast<size_t>(slotCount_ * kOutcomeNumbers)));
  memory_ = Napi::Persistent(memory);
  onDone_ = Napi::Persistent(info[2].As<Napi::Function>());
  context_ = std::make_unique<Napi::AsyncContext>(env, "depthwatt.Session");

  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  async_ = new uv_async_t;
  async_->data = this;
  uv_async_init(loop, async_, [](uv_async_t* handle) {
    if (handle->data != nullptr) static_cast<Session*>(handle->data)->deliver();
  });
  uv_unref(reinterpret_cast<uv_handle_t*>(async_));  // an idle engine does not keep the process alive
  const Status started =
      frames_.start(*engine_, [](void* async) { uv_async_send(static_cast<uv_async_t*>(async)); }, async_);
  if (started.ok()) return;
  shutDown();
  throw errorFrom(env, started);
}

static const char* inputPathName(InputPath path) {
  switch (path) {
    case InputPath::kInPlace: return "in-place";
    case InputPath::kUserPointer: return "user-pointer";
    case InputPath::kDmaBuffer: return "dma-buf";
    case InputPath::kPinnedCopy: return "pinned-copy";
    case InputPath::kPlainCopy: return "copy";
  }
  return "";
}

/// Keeps the list until close(): the device must not use freed memory.
void Session::bindInput(const Napi::Value& list) {
  if (list.IsUndefined()) return;
  const auto refuse = [&] {
    throw errorFrom(list.Env(), Status::error(Code::kParameter,
                                              "Expected a list of Uint8Array, or of objects with bytes and dmaBuffer, "
                                              "for inputMemory."));
  };
  if (!list.IsArray()) refuse();
  const auto arrays = list.As<Napi::Array>();
  for (uint32_t i = 0; i < arrays.Length(); ++i) {
    Napi::Value one = arrays.Get(i);
    InputMemory memory;
    if (one.IsObject() && one.As<Napi::Object>().Has("dmaBuffer")) {
      memory.dmaBuffer = readInteger(one.As<Napi::Object>(), "dmaBuffer", 0, INT32_MAX);
      one = one.As<Napi::Object>().Get("bytes");
    }
    if (!one.IsTypedArray() || one.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) refuse();
    auto bytes = one.As<Napi::Uint8Array>();
    requireFixedSize(bytes.ArrayBuffer(), "inputMemory");
    memory.data = bytes.Data();
    memory.bytes = bytes.ByteLength();
    engine_->attach(memory);
  }
  inputMemory_ = Napi::Persistent(arrays);
}

void Session::bindSlot(int slot, const Napi::Object& memory) {
  const EngineParameters& p = engine_->parameters();
  const size_t pixels = static_cast<size_t>(p.width) * static_cast<size_t>(p.height);
  const auto take = [&](const char* name, size_t bytes) -> uint8_t* {
    if (bytes == 0) return nullptr;
    if (!memory.Get(name).IsArrayBuffer()) {
      throw errorFrom(memory.Env(),
                      Status::error(Code::kParameter, "Expected an ArrayBuffer for %s of slot %d.", name, slot));
    }
    auto buffer = memory.Get(name).As<Napi::ArrayBuffer>();
    if (buffer.ByteLength() < kHeadroomBytes + bytes) {
      throw errorFrom(memory.Env(), Status::error(Code::kParameter, "Expected %zu bytes for %s of slot %d, got %zu.",
                                                  kHeadroomBytes + bytes, name, slot, buffer.ByteLength()));
    }
    requireFixedSize(buffer, name);
    return static_cast<uint8_t*>(buffer.Data()) + kHeadroomBytes;
  };
  FrameOutput& output = frames_.output(slot);
  output.left = take("left", pixels);
  output.leftRgb = reinterpret_cast<Rgb8*>(take("leftRgb", p.leftRgb ? pixels * sizeof(Rgb8) : 0));
  output.right = take("right", p.rightGrey ? pixels : 0);
  output.disparityQ4 = reinterpret_cast<int16_t*>(take("disparityQ4", pixels * sizeof(int16_t)));
  output.confidence = take("confidence", pixels);
  output.depthMillimetres =
      reinterpret_cast<uint16_t*>(take("depthMillimetres", p.hasGeometry ? pixels * sizeof(uint16_t) : 0));
  output.encodedDepth = take("encodedDepth", encodedBound(p.encodeDepth, p.width, p.height));
  output.encodedDisparity = take("encodedDisparity", encodedBound(p.encodeDisparity, p.width, p.height));
  output.points = take("points", p.makesPoints ? pixels * pointBytes(p.points) : 0);
  output.voxels = take("voxels", p.makesVoxels ? voxelBytes(p.width, p.height) : 0);
  const size_t others = p.registers ? static_cast<size_t>(p.registration.width) * p.registration.height : 0;
  output.registered = reinterpret_cast<uint16_t*>(take("registered", others * sizeof(uint16_t)));
  output.registeredConfidence = take("registeredConfidence", others);
  output.registeredImage = take("registeredImage", registeredImageBytes(p));
  output.floor = reinterpret_cast<double*>(take("floor", p.findsFloor ? kFloorNumbers * sizeof(double) : 0));
  output.grid = take("grid", p.makesGrid ? gridCells(p.grid) : 0);
  engine_->attach(output);
}

/// Checks that the slot's memory was not transferred to a worker, which would leave it without a valid owner.
void Session::requireSlotMemory(int slot) {
  const Napi::Value found = memory_.Value().Get(static_cast<uint32_t>(slot));
  // A value that is not an object has none of these properties.
  const auto memory = found.IsObject() ? found.As<Napi::Object>() : Napi::Object::New(found.Env());
  const FrameOutput& output = frames_.output(slot);
  const auto check = [&](const char* name, const void* bound) {
    if (bound == nullptr) return;
    const Napi::Value value = memory.Get(name);
    const bool there = value.IsArrayBuffer() && !value.As<Napi::ArrayBuffer>().IsDetached() &&
                       static_cast<uint8_t*>(value.As<Napi::ArrayBuffer>().Data()) + kHeadroomBytes == bound;
    if (there) return;
    throw errorFrom(memory.Env(), Status::error(Code::kParameter,
                                                "Expected the memory of slot %d that the engine was opened "
                                                "with, %s was transferred or replaced.",
                                                slot, name));
  };
  check("left", output.left);
  check("leftRgb", output.leftRgb);
  check("right", output.right);
  check("disparityQ4", output.disparityQ4);
  check("confidence", output.confidence);
  check("depthMillimetres", output.depthMillimetres);
  check("encodedDepth", output.encodedDepth);
  check("encodedDisparity", output.encodedDisparity);
  check("points", output.points);
  check("voxels", output.voxels);
  check("registered", output.registered);
  check("registeredConfidence", output.registeredConfidence);
  check("registeredImage", output.registeredImage);
  check("floor", output.floor);
  check("grid", output.grid);
}

/// Returns the image of the registered camera, null if there is none or the engine takes none.
const uint8_t* Session::registeredInput(const Napi::Value& value) const {
  if (value.IsUndefined() || registeredBytes_ == 0) return nullptr;
  const bool isArray = value.IsTypedArray();
  const size_t found = isArray ? value.As<Napi::TypedArray>().ByteLength() : 0;
  if (!isArray || found < registeredBytes_) {
    throw errorFrom(
        value.Env(),
        Status::error(Code::kParameter,
                      "Expected a Uint8Array of at least %zu bytes for the registered camera's image, got %zu.",
                      registeredBytes_, found));
  }
  auto bytes = value.As<Napi::Uint8Array>();
  requireFixedSize(bytes.ArrayBuffer(), "registered");
  return bytes.Data();
}

void Session::submit(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (closed_) throw errorFrom(env, Status::error(Code::kFailed, "Expected an open engine, this one is closed."));
  const int slot = readIndex(info[0], "a slot", slotCount_);
  requireSlotMemory(slot);
  if (!info[1].IsTypedArray() || !info[2].IsTypedArray()) {
    throw errorFrom(env, Status::error(Code::kParameter, "Expected a Uint8Array for each of left and right."));
  }
  auto left = info[1].As<Napi::Uint8Array>();
  auto right = info[2].As<Napi::Uint8Array>();
  if (left.ByteLength() < leftBytes_ || right.ByteLength() < rightBytes_) {
    throw errorFrom(env, Status::error(Code::kParameter,
                                       "Expected at least %zu and %zu bytes of left and right image, got %zu and %zu.",
                                       leftBytes_, rightBytes_, left.ByteLength(), right.ByteLength()));
  }
  requireFixedSize(left.ArrayBuffer(), "left");
  requireFixedSize(right.ArrayBuffer(), "right");
  FrameInput input;
  input.left = left.Data();
  input.right = right.Data();
  input.follows = info[3].IsUndefined() || info[3].ToBoolean();
  input.registered = registeredInput(info[4]);
  if (!frames_.submit(slot, input))
    throw errorFrom(env, Status::error(Code::kParameter, "Expected a free slot, slot %d is still in use.", slot));
  ++outstanding_;
  keepLoopAlive();
}

/// Returns the array of `outcomes`, or null if its buffer was transferred or the environment is ending.
double* Session::outcomeNumbers(napi_env env) const {
  napi_value array = nullptr;
  void* data = nullptr;
  size_t count = 0;
  if (napi_get_reference_value(env, outcomes_, &array) != napi_ok || array == nullptr) return nullptr;
  const bool known = napi_get_typedarray_info(env, array, nullptr, &count, &data, nullptr, nullptr) == napi_ok;
  return known && count == static_cast<size_t>(slotCount_ * kOutcomeNumbers) ? static_cast<double*>(data) : nullptr;
}

/// Reports every finished frame to JavaScript. Runs on the JavaScript thread, below a libuv callback: it must not
/// throw.
void Session::deliver() {
  napi_env env = Env();
  napi_handle_scope scope = nullptr;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return;
  for (;;) {
    // Read again for every frame: a callback may have transferred the buffer.
    double* numbers = outcomeNumbers(env);
    int slot = -1;
    Status status;
    if (!frames_.takeDone(&slot, &status)) break;
    if (double* outcome = numbers == nullptr ? nullptr : numbers + slot * kOutcomeNumbers) {
      const FrameOutput& output = frames_.output(slot);
      outcome[0] = static_cast<double>(output.encodedDepthBytes);
      outcome[1] = static_cast<double>(output.encodedDisparityBytes);
      outcome[2] = output.validPixels;
      outcome[3] = output.matchedPixels;
      double* const dropped = outcome + 4;
      std::copy_n(output.droppedPixels, kDropCauses, dropped);
      std::copy_n(output.stageMilliseconds, kStageCount, dropped + kDropCauses);
    }
    --outstanding_;
    keepLoopAlive();
    napi_value arguments[2] = {nullptr, errorOrNull(env, status)};
    if (napi_create_int32(env, slot, &arguments[0]) != napi_ok) continue;
    callBack(env, onDone_, *context_, 2, arguments);
  }
  napi_close_handle_scope(env, scope);
}

void Session::keepLoopAlive() {
  if (async_ == nullptr) return;
  auto* handle = reinterpret_cast<uv_handle_t*>(async_);
  if (outstanding_ > 0) uv_ref(handle);
  else uv_unref(handle);
}

void Session::shutDown() {
  if (closed_) return;
  closed_ = true;
  frames_.stop();
  if (engine_ != nullptr) engine_->detach();
  // Free threads and memory now. The garbage collector does not know their size and would do so late.
  engine_.reset();
  if (async_ != nullptr) {
    async_->data = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(async_),
             [](uv_handle_t* handle) { delete reinterpret_cast<uv_async_t*>(handle); });
    async_ = nullptr;
  }
}

Napi::Value Session::info(const Napi::CallbackInfo& info) {
  if (engine_ == nullptr)
    throw errorFrom(info.Env(), Status::error(Code::kFailed, "Expected an open engine, this one is closed."));
  auto result = Napi::Object::New(info.Env());
  const EngineState state = engine_->state();
  result.Set("backend", state.backend);
  result.Set("backendReason", state.reason);
  result.Set("instructionSet", state.instructionSet);
  result.Set("threads", state.threads);
  result.Set("workspaceBytes", static_cast<double>(state.workspaceBytes));
  result.Set("framesInFlight", state.framesInWork);
  auto search = Napi::Object::New(info.Env());
  if (state.search.name.empty()) {
    search.Set("available", false);
  } else {
    search.Set("chosen", state.search.name);
  }
  search.Set("reason", state.search.name.empty() ? "this matcher has one search" : state.search.reason);
  result.Set("search", search);
  auto memory = Napi::Object::New(info.Env());
  memory.Set("images", inputPathName(state.paths.input));
  memory.Set("results", std::strcmp(state.backend, "cpu") == 0 ? "in-place"
                        : state.paths.mapsResults              ? "mapped"
                                                               : "copied");
  if (state.paths.timed) {
    memory.Set("imagesMicroseconds", state.paths.inputMicroseconds);
    memory.Set("resultsMicroseconds", state.paths.resultMicroseconds);
  }
  result.Set("memory", memory);
  const PairObservation observation = engine_->observation();
  const AdaptationParameters& watched = engine_->parameters().adaptation;
  auto rows = Napi::Object::New(info.Env());
  rows.Set("watched", watched.watchesRows);
  rows.Set("known", observation.rowsKnown);
  rows.Set("atLimit", observation.rowsAtLimit);
  rows.Set("measuredRows", observation.medianQuarterRows / 4.0);
  rows.Set("appliedRows",
           (engine_->parameters().adaptation.movesRows() ? observation.adaptation.quarterRows : 0) / 4.0);
  rows.Set("measuredRowsOverWidth", observation.medianQuarterRowsOverWidth / 4.0);
  rows.Set("appliedRowsOverWidth", observation.adaptation.quarterRowsOverWidth / 4.0);
  result.Set("verticalOffset", rows);
  auto noise = Napi::Object::New(info.Env());
  noise.Set("watched", watched.denoise != Denoise::kOff);
  noise.Set("known", observation.noiseKnown);
  noise.Set("sigma", observation.noiseSigmaQ8 / 256.0);
  noise.Set("smoothed", observation.adaptation.smoothRange > 0);
  noise.Set("range", observation.adaptation.smoothRange);
  result.Set("noise", noise);
  return result;
}

Napi::Value Session::setRightMap(const Napi::CallbackInfo& info) {
  if (engine_ == nullptr)
    throw errorFrom(info.Env(), Status::error(Code::kFailed, "Expected an open engine, this one is closed."));
  const Napi::Object call = objectAt(info, 0, "the map");
  throwUnlessOk(info.Env(), engine_->setRightMap(readMap(call, "map")));
  return info.Env().Undefined();
}

Napi::Function Session::define(Napi::Env env) {
  return DefineClass(
      env, "Session",
      {InstanceMethod("submit", &Session::submit), InstanceMethod("close", &Session::close),
       InstanceMethod("setRightMap", &Session::setRightMap), InstanceAccessor("info", &Session::info, nullptr),
       InstanceAccessor("outcomes", &Session::outcomes, nullptr)});
}

Napi::Value openEngine(const Napi::CallbackInfo& info) {
  auto* opening = new EngineOpening(info.Env(), readEngineParameters(objectAt(info, 0, "options")));
  const Napi::Promise promise = opening->promise();
  opening->Queue();
  return promise;
}

Napi::Value bound(const Napi::CallbackInfo& info) {
  auto call = Napi::Object::New(info.Env());
  call.Set("encoding", info[0]);
  const int32_t width = readIndex(info[1], "a width", kAnyInt), height = readIndex(info[2], "a height", kAnyInt);
  return Napi::Number::New(info.Env(),
                           static_cast<double>(encodedBound(readEncoding(call, "encoding"), width, height)));
}

}  // namespace

void addSession(Napi::Env env, Napi::Object exports) {
  exports.Set("Session", Session::define(env));
  exports.Set("openEngine", Napi::Function::New(env, openEngine, "openEngine"));
  exports.Set("encodedBound", Napi::Function::New(env, bound, "encodedBound"));
}

}  // namespace depthwatt
