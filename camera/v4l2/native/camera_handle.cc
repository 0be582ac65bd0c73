// SPDX-License-Identifier: Apache-2.0
// The JavaScript side of a camera: views made once, a wake-up without allocation, and views emptied before their memory
// is freed.
#include "camera_handle.h"

#include <algorithm>

#include "arguments.h"
#include "call.h"
#include "status_error.h"
#include "convert.h"

namespace v4l2camera {
namespace {

/// Accepts the whole numbers that a double represents exactly.
int64_t wholeAt(const Napi::CallbackInfo& info, size_t place, const char* what) {
  constexpr double kMax = 9007199254740992.0;
  return static_cast<int64_t>(std::clamp(numberAt(info, place, what), -kMax, kMax));
}

uint32_t controlAt(const Napi::CallbackInfo& info) {
  return static_cast<uint32_t>(readIndex(info[0], "a control", INT32_MAX));
}

}  // namespace

/// Stops a camera off the JavaScript thread, because STREAMOFF may be slow.
class CloseWorker : public Napi::AsyncWorker {
 public:
  CloseWorker(Napi::Env env, std::shared_ptr<CameraHandle> camera)
      : Napi::AsyncWorker(env), done_(Napi::Promise::Deferred::New(env)), camera_(std::move(camera)) {}
  Napi::Promise promise() const { return done_.Promise(); }
  void Execute() override { camera_->capture_->stop(); }
  void OnOK() override {
    camera_->afterStop();
    done_.Resolve(Env().Undefined());
  }

 private:
  Napi::Promise::Deferred done_;
  std::shared_ptr<CameraHandle> camera_;
};

CameraHandle::CameraHandle(Napi::Env env, std::unique_ptr<Capture> capture, Napi::Array userBuffers)
    : env_(env), capture_(std::move(capture)) {
  if (!userBuffers.IsEmpty()) userBuffers_ = Napi::Persistent(userBuffers);
}

CameraHandle::~CameraHandle() {
  capture_->stop();
  closeWake();
}

void CameraHandle::requireOpen(Napi::Env env) const {
  if (!closing_) return;
  throwUnlessOk(
      env, Status::error(Code::kDeviceUnavailable, "%s: the camera is closed.", capture_->device().path().c_str()));
}

Napi::Object CameraHandle::exportTo(Napi::Env env) {
  auto camera = Napi::Object::New(env);
  camera.Set("identity", toJs(env, capture_->device().identity(), capture_->device().path()));
  camera.Set("format", toJs(env, capture_->format()));
  addViews(env, camera);
  addFunctions(env, camera);
  return camera;
}

Napi::ArrayBuffer CameraHandle::view(Napi::Env env, void* data, size_t bytes) {
  // Each view keeps the memory's owner alive, in any order in which JavaScript releases them.
  auto* owner = new std::shared_ptr<CameraHandle>(shared_from_this());
  return Napi::ArrayBuffer::New(
      env, data, bytes, [](Napi::Env, void*, std::shared_ptr<CameraHandle>* held) { delete held; }, owner);
}

/// Returns views that need no camera: the next camera uses the memory too, and the last view frees it.
Napi::Array CameraHandle::createViews(Napi::Env env, const std::shared_ptr<UserMemory>& memory) {
  auto views = Napi::Array::New(env);
  for (uint32_t i = 0; i < memory->count(); ++i) {
    auto* owner = new std::shared_ptr<UserMemory>(memory);
    auto buffer = Napi::ArrayBuffer::New(
        env, memory->buffer(i), memory->bytes(),
        [](Napi::Env, void*, std::shared_ptr<UserMemory>* held) { delete held; }, owner);
    views.Set(i, Napi::Uint8Array::New(env, memory->bytes(), buffer, 0));
  }
  return views;
}

void CameraHandle::addViews(Napi::Env env, Napi::Object camera) {
  camera.Set("ring", view(env, capture_->ring(), sizeof(uint32_t) * kRingEntries));
  camera.Set("facts", view(env, capture_->facts(), sizeof(FrameFacts) * kMaxBuffers));
  if (capture_->userMemory() != nullptr) userBuffers_ = Napi::Persistent(createViews(env, capture_->userMemory()));
  auto images = Napi::Array::New(env);
  auto exported = Napi::Array::New(env);
  uint32_t index = 0;
  for (const Buffer& image : capture_->images()) {
    if (userBuffers_.IsEmpty()) {
      Napi::ArrayBuffer buffer = view(env, image.data, image.bytes);
      views_.push_back(Napi::Persistent(buffer));
      images.Set(index, Napi::Uint8Array::New(env, image.bytes, buffer, 0));
    } else {
      images.Set(index, userBuffers_.Value().Get(index));
    }
    if (image.exported >= 0) exported.Set(exported.Length(), image.exported);
    ++index;
  }
  camera.Set("planes", capture_->planes());
  camera.Set("images", images);
  camera.Set("exportedDescriptors", exported);
}

void CameraHandle::addFunctions(Napi::Env env, Napi::Object camera) {
  const auto self = shared_from_this();
  const auto add = [&](const char* name, auto function) { camera.Set(name, Napi::Function::New(env, function, name)); };
  add("start", [self](const Napi::CallbackInfo& info) { self->start(info); });
  add("release", [self](const Napi::CallbackInfo& info) {
    const auto count = static_cast<int32_t>(self->capture_->imageCount());
    self->release(info.Env(), static_cast<uint32_t>(readIndex(info[0], "an image buffer", count)));
  });
  add("restartAt", [self](const Napi::CallbackInfo& info) {
    self->requireOpen(info.Env());
    self->capture_->restartAt(wholeAt(info, 0, "a time"));
  });
  add("controls", [self](const Napi::CallbackInfo& info) -> Napi::Value {
    self->requireOpen(info.Env());
    return toJs(info.Env(), enumerateControls(self->capture_->device()));
  });
  add("readControl", [self](const Napi::CallbackInfo& info) -> Napi::Value {
    self->requireOpen(info.Env());
    int64_t value = 0;
    throwUnlessOk(info.Env(), readControl(self->capture_->device(), controlAt(info), info[1].ToBoolean(), &value));
    return Napi::Number::New(info.Env(), static_cast<double>(value));
  });
  add("writeControl", [self](const Napi::CallbackInfo& info) {
    self->requireOpen(info.Env());
    throwUnlessOk(info.Env(), writeControl(self->capture_->device(), controlAt(info), info[1].ToBoolean(),
                                           wholeAt(info, 2, "a value")));
  });
  add("watchControl", [self](const Napi::CallbackInfo& info) {
    self->requireOpen(info.Env());
    throwUnlessOk(info.Env(), self->capture_->watchControl(controlAt(info)));
  });
  add("takeEvents", [self](const Napi::CallbackInfo& info) -> Napi::Value { return self->events(info.Env()); });
  add("statistics", [self](const Napi::CallbackInfo& info) { return self->statistics(info.Env()); });
  add("freeKept", [self](const Napi::CallbackInfo&) { self->capture_->freeKept(); });
  add("close", [self](const Napi::CallbackInfo& info) { return self->close(info.Env()); });
}

void CameraHandle::start(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  requireOpen(env);
  if (!info[0].IsFunction()) {
    throwUnlessOk(env, Status::error(Code::kParameter, "Expected a function for start."));
  }
  if (wake_ != nullptr) throwUnlessOk(env, capture_->start(nullptr, nullptr));
  onWake_ = Napi::Persistent(info[0].As<Napi::Function>());
  context_ = std::make_unique<Napi::AsyncContext>(env, "v4l2-camera");
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  wake_ = new Wake;
  wake_->owner = this;
  wake_->async.data = wake_;
  uv_async_init(loop, &wake_->async, onAsync);
  napi_add_async_cleanup_hook(env, onCleanup, wake_, &wake_->hook);
  throwUnlessOk(env, capture_->start(wakeFromThread, wake_));
}

void CameraHandle::onAsync(uv_async_t* async) {
  CameraHandle* owner = static_cast<Wake*>(async->data)->owner;
  if (owner != nullptr) owner->deliver();
}

void CameraHandle::deliver() {
  if (closing_ || onWake_.IsEmpty()) return;
  napi_handle_scope scope = nullptr;
  if (napi_open_handle_scope(env_, &scope) != napi_ok) return;
  const uint32_t produced = capture_->produced();
  const int fault = capture_->fault();
  delivered_ = produced;
  napi_value arguments[4] = {};
  const bool made = napi_create_uint32(env_, produced, &arguments[0]) == napi_ok &&
                    napi_create_int32(env_, fault, &arguments[1]) == napi_ok &&
                    (fault == 0 ? napi_get_undefined(env_, &arguments[2])
                                : napi_create_string_utf8(env_, capture_->faultAction(), NAPI_AUTO_LENGTH,
                                                          &arguments[2])) == napi_ok &&
                    napi_get_boolean(env_, capture_->hasEvents(), &arguments[3]) == napi_ok;
  if (made) callBack(env_, onWake_, *context_, 4, arguments);
  napi_close_handle_scope(env_, scope);
}

void CameraHandle::release(Napi::Env env, uint32_t index) {
  if (closing_) detach(index);
  if (!capture_->release(index)) {
    throwUnlessOk(env, Status::error(Code::kParameter, "%s: image buffer %u was released but is not held.",
                                     capture_->device().path().c_str(), index));
  }
}

/// Empties the views of an image before its memory is freed: reading them then gives nothing instead of a crash.
void CameraHandle::detach(uint32_t index) {
  const uint32_t planes = capture_->planes();
  for (uint32_t i = index * planes; i < (index + 1) * planes && i < views_.size(); ++i) {
    if (views_[i].IsEmpty()) continue;
    Napi::ArrayBuffer buffer = views_[i].Value();
    if (!buffer.IsDetached()) buffer.Detach();
  }
}

Napi::Value CameraHandle::close(Napi::Env env) {
  if (!closing_) {
    closing_ = true;
    for (uint32_t i = 0; i < capture_->imageCount(); ++i) {
      if (!capture_->isHeld(i)) detach(i);
    }
    // Images announced after the last delivery are held natively and unknown to JavaScript.
  }
  auto* worker = new CloseWorker(env, shared_from_this());
  worker->Queue();
  return worker->promise();
}

void CameraHandle::afterStop() {
  const uint32_t produced = capture_->produced();
  for (; delivered_ != produced; ++delivered_) {
    const uint32_t index = capture_->ring()[delivered_ % kRingEntries];
    detach(index);
    capture_->release(index);
  }
  closeWake();
}

void CameraHandle::closeWake() {
  if (wake_ == nullptr) return;
  Wake* wake = wake_;
  wake_ = nullptr;
  wake->owner = nullptr;
  if (uv_is_closing(reinterpret_cast<uv_handle_t*>(&wake->async)) != 0) return;
  uv_close(reinterpret_cast<uv_handle_t*>(&wake->async), [](uv_handle_t* handle) {
    Wake* closed = static_cast<Wake*>(handle->data);
    if (closed->hook != nullptr) napi_remove_async_cleanup_hook(closed->hook);
    delete closed;
  });
}

/// Runs when the environment ends (a worker thread, or the process) with the camera still open.
void CameraHandle::onCleanup(napi_async_cleanup_hook_handle, void* data) {
  Wake* wake = static_cast<Wake*>(data);
  if (wake->owner == nullptr) return;
  CameraHandle* owner = wake->owner;
  owner->closing_ = true;
  owner->capture_->stop();
  owner->closeWake();
}

Napi::Value CameraHandle::events(Napi::Env env) {
  ControlEvent events[kMaxEvents];
  const uint32_t count = capture_->drainEvents(events);
  auto list = Napi::Array::New(env, count);
  for (uint32_t i = 0; i < count; ++i) {
    auto event = Napi::Object::New(env);
    event.Set("id", events[i].id);
    event.Set("value", static_cast<double>(events[i].value));
    event.Set("inactive", (events[i].flags & V4L2_CTRL_FLAG_INACTIVE) != 0);
    event.Set("minimum", events[i].minimum);
    event.Set("maximum", events[i].maximum);
    list.Set(i, event);
  }
  return list;
}

Napi::Value CameraHandle::statistics(Napi::Env env) const {
  const CaptureCounters& counters = capture_->counters();
  auto statistics = Napi::Object::New(env);
  statistics.Set("frames", counters.frames.load());
  statistics.Set("errorFlagged", counters.errorFlagged.load());
  statistics.Set("empty", counters.empty.load());
  statistics.Set("decodeFailed", counters.decodeFailed.load());
  statistics.Set("oversized", counters.oversized.load());
  statistics.Set("decodeRepaired", counters.decodeRepaired.load());
  statistics.Set("noFreeBuffer", counters.noFreeBuffer.load());
  statistics.Set("queueFailed", counters.queueFailed.load());
  statistics.Set("eventsLost", capture_->eventsLost());
  statistics.Set("streamOnNs", static_cast<double>(counters.streamOnNs.load()));
  statistics.Set("threadNs", closing_ ? 0.0 : static_cast<double>(capture_->threadNs()));
  return statistics;
}

}  // namespace v4l2camera
