// SPDX-License-Identifier: Apache-2.0
// Renders the synthetic scene on a thread. JavaScript passes buffer and frame numbers and is called back when the
// images are in the buffer. All memory is allocated at open.
#include "binding.h"

#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "scene.h"
#include "../../core/workers.h"
#include "../../core/napi/arguments.h"
#include "../../core/napi/call.h"
#include "../../core/napi/errors.h"

namespace depthwatt {
namespace {

constexpr int32_t kMaxBuffers = 16;
constexpr int32_t kLargestSide = 16384;

struct Job {
  int32_t buffer = 0;
  uint32_t frame = 0;
};

/// A fixed ring: there are never more jobs than buffers.
class JobRing {
 public:
  bool empty() const { return count_ == 0; }
  void push(Job job) { jobs_[(first_ + count_++) % kMaxBuffers] = job; }
  Job pop() {
    const Job job = jobs_[first_];
    first_ = (first_ + 1) % kMaxBuffers;
    --count_;
    return job;
  }

 private:
  Job jobs_[kMaxBuffers];
  int first_ = 0, count_ = 0;
};

/// Reads a list of `count` numbers. @param name of the object, for messages
void readNumbers(const Napi::Object& object, const char* name, const char* key, double* out, uint32_t count) {
  const Napi::Value value = object.Get(key);
  if (!value.IsArray() || value.As<Napi::Array>().Length() != count) {
    throwUnlessOk(object.Env(),
                  Status::error(Code::kParameter, "Scene: expected %u numbers in %s.%s", count, name, key));
  }
  for (uint32_t i = 0; i < count; ++i) {
    const Napi::Value number = value.As<Napi::Array>().Get(i);
    out[i] = number.IsNumber() ? number.As<Napi::Number>().DoubleValue() : NAN;
  }
}

scene::Camera readCamera(const Napi::Object& options, const char* name) {
  if (!options.Get(name).IsObject()) {
    throwUnlessOk(options.Env(), Status::error(Code::kParameter, "Scene: expected an object %s", name));
  }
  const auto object = options.Get(name).As<Napi::Object>();
  scene::Camera camera;
  camera.fx = readNumber(object, "fx");
  camera.fy = readNumber(object, "fy");
  camera.cx = readNumber(object, "cx");
  camera.cy = readNumber(object, "cy");
  camera.offsetMetres = readNumber(object, "offsetMetres");
  camera.gain = readNumber(object, "gain");
  camera.offsetGrey = readNumber(object, "offsetGrey");
  camera.vignetting = readNumber(object, "vignetting");
  readNumbers(object, name, "distortion", camera.distortion, 5);
  readNumbers(object, name, "rotation", camera.rotation, 9);
  return camera;
}

/// Uses the constructor, which throws without memory; Node-API's own function ends the process.
Napi::Uint8Array imageMemory(Napi::Env env, size_t bytes) {
  try {
    const auto size = Napi::Number::New(env, static_cast<double>(bytes));
    const auto buffer = env.Global().Get("ArrayBuffer").As<Napi::Function>().New({size}).As<Napi::ArrayBuffer>();
    return Napi::Uint8Array::New(env, bytes, buffer, 0);
  } catch (const Napi::Error&) {
    throw errorFrom(env, Status::error(Code::kMemoryExhausted,
                                       "Expected %zu MB of memory for a picture of the scene, "
                                       "the system gave none.",
                                       bytes / 1000000 + 1));
  }
}

class SceneObject;
void deliver(Napi::Env env, Napi::Function callback, SceneObject* owner, void* buffer);
using Rendered = Napi::TypedThreadSafeFunction<SceneObject, void, deliver>;

class SceneObject : public Napi::ObjectWrap<SceneObject> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(
        env, "Scene",
        {InstanceMethod<&SceneObject::render>("render"), InstanceMethod<&SceneObject::truth>("truth"),
         InstanceMethod<&SceneObject::depthAlong>("depthAlong"), InstanceMethod<&SceneObject::close>("close"),
         InstanceAccessor<&SceneObject::buffers>("buffers")});
  }

  explicit SceneObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<SceneObject>(info) {
    if (info.Length() != 2 || !info[0].IsObject() || !info[1].IsFunction()) {
      throwUnlessOk(info.Env(), Status::error(Code::kParameter, "Scene: expected options and a callback"));
    }
    const auto options = info[0].As<Napi::Object>();
    scene::SceneOptions wanted;
    wanted.width = readInteger(options, "width", 16, kLargestSide);
    wanted.height = readInteger(options, "height", 16, kLargestSide);
    wanted.seed = static_cast<uint32_t>(readInteger(options, "seed", 0, 1000000));
    wanted.noiseGrey = readNumber(options, "noiseGrey");
    wanted.cellPixels = readInteger(options, "cellPixels", 1, 256);
    wanted.focalPixels = readNumber(options, "focalPixels");
    wanted.baselineMetres = readNumber(options, "baselineMetres");
    wanted.cameras[0] = readCamera(options, "left");
    wanted.cameras[1] = readCamera(options, "right");
    wanted.room = static_cast<scene::RoomKind>(readInteger(options, "room", 0, 5, 0));
    if (options.Get("pose").IsObject()) {
      const auto pose = options.Get("pose").As<Napi::Object>();
      wanted.pose.heightMetres = readNumber(pose, "heightMetres");
      readNumbers(pose, "pose", "rotation", wanted.pose.rotation, 9);
    }
    wanted.colours = options.Get("colours").ToBoolean().Value();
    throwUnlessOk(info.Env(), scene::Scene::check(wanted));
    const int32_t count = readInteger(options, "buffers", 1, kMaxBuffers);
    auto list = Napi::Array::New(info.Env(), static_cast<size_t>(count));
    const auto bytes =
        static_cast<size_t>(wanted.width) * static_cast<size_t>(wanted.height) * (wanted.colours ? 3 : 1);
    for (int32_t i = 0; i < count; ++i) {
      auto left = imageMemory(info.Env(), bytes), right = imageMemory(info.Env(), bytes);
      auto pair = Napi::Object::New(info.Env());
      pair.Set("left", left);
      pair.Set("right", right);
      list.Set(static_cast<uint32_t>(i), pair);
      images_.push_back({left.Data(), right.Data()});
    }
    buffers_ = Napi::Persistent(list.As<Napi::Object>());
    busy_.resize(static_cast<size_t>(count));
    rendered_ = Rendered::New(info.Env(), info[1].As<Napi::Function>(), "depthwatt scene", 0, 1, this);
    rendered_.Unref(info.Env());
    options_ = wanted;
    env_ = info.Env();
    // Hooks run newest first: the thread ends before the thread-safe function, whose hook is older and which Node frees
    // with the environment.
    napi_add_env_cleanup_hook(env_, stopWithEnvironment, this);
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& error) {
      forgetEnvironment();
      throw errorFrom(info.Env(), noThread(error));
    }
  }

  ~SceneObject() override { stop(); }  // must not throw: no Node-API call that can fail

  /// Reports on the JavaScript thread that a buffer holds its images. Throws nothing, see core/napi/call.h.
  void finish(napi_env env, napi_value callback, int32_t buffer) {
    busy_[static_cast<size_t>(buffer)] = false;
    if (--pending_ == 0 && !stop_) napi_unref_threadsafe_function(env, rendered_);
    napi_value arguments[2] = {errorOrNull(env, status_), nullptr}, global = nullptr, result = nullptr;
    // An exception stays pending: the thread-safe function turns it into an uncaught one.
    if (napi_create_int32(env, buffer, &arguments[1]) == napi_ok && napi_get_global(env, &global) == napi_ok) {
      napi_call_function(env, global, callback, 2, arguments, &result);
    }
    // Each frame in work keeps the object alive; without any it may be collected.
    uint32_t held = 0;
    napi_reference_unref(env, *this, &held);
  }

 private:
  void work() {
    Status status;
    try {
      status = scene_->open(options_);
    } catch (const std::exception& error) {
      status = Status::error(Code::kFailed, "The synthetic scene could not be made: %s", error.what());
    }
    std::unique_lock<std::mutex> lock(mutex_);
    status_ = status;
    opened_ = true;
    wake_.notify_all();
    for (;;) {
      wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      if (stop_) return;
      const Job job = jobs_.pop();
      lock.unlock();
      if (status.ok()) {
        scene_->render(job.frame, 0, images_[job.buffer].left);
        scene_->render(job.frame, 1, images_[job.buffer].right);
      }
      // The buffer's number plus 1 (so that it is not null) is passed as the pointer, which needs no allocation.
      rendered_.NonBlockingCall(reinterpret_cast<void*>(static_cast<intptr_t>(job.buffer) + 1));
      lock.lock();
    }
  }

  Napi::Value buffers(const Napi::CallbackInfo& info) { return buffers_.Value(); }

  Napi::Value render(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (stop_) throwUnlessOk(env, Status::error(Code::kFailed, "The synthetic scene is closed."));
    const int32_t buffer = readIndex(info[0], "a buffer", static_cast<int32_t>(busy_.size()));
    if (!info[1].IsNumber()) throwUnlessOk(env, Status::error(Code::kParameter, "render: expected a frame number."));
    requireImages(buffer);
    if (busy_[static_cast<size_t>(buffer)]) {
      throwUnlessOk(env,
                    Status::error(Code::kParameter, "render: buffer %d is being drawn.", static_cast<int>(buffer)));
    }
    busy_[static_cast<size_t>(buffer)] = true;
    if (pending_++ == 0) rendered_.Ref(env);
    Ref();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push({static_cast<int32_t>(buffer), info[1].As<Napi::Number>().Uint32Value()});
    }
    wake_.notify_all();
    return env.Undefined();
  }

  /// Checks that JavaScript has not transferred the memory that the thread draws into.
  void requireImages(int32_t buffer) {
    const auto pair = buffers_.Value().As<Napi::Array>().Get(static_cast<uint32_t>(buffer)).As<Napi::Object>();
    const Pair& bound = images_[static_cast<size_t>(buffer)];
    for (const auto& [name, data] : {std::pair{"left", bound.left}, std::pair{"right", bound.right}}) {
      const Napi::Value image = pair.Get(name);
      if (image.IsTypedArray() && image.As<Napi::Uint8Array>().Data() == data) continue;
      throwUnlessOk(pair.Env(), Status::error(Code::kParameter, "render: %s of buffer %d was transferred or replaced.",
                                              name, buffer));
    }
  }

  Napi::Value truth(const Napi::CallbackInfo& info) {
    const Napi::Object call = objectAt(info, 0, "the view");
    const int32_t width = readInteger(call, "width", 1, kLargestSide);
    const int32_t height = readInteger(call, "height", 1, kLargestSide);
    const scene::IdealView view{width, height, readNumber(call, "focalPixels"), readNumber(call, "cx"),
                                readNumber(call, "cy")};
    const int32_t side = readInteger(call, "side", 0, 1);
    const auto frame = static_cast<uint32_t>(readInteger(call, "frame", 0, 0x7fffffff));
    const auto disparity =
        readImage<float>(call, "disparity", width, height, static_cast<size_t>(width) * sizeof(float));
    const auto visible = readImage<uint8_t>(call, "visible", width, height, static_cast<size_t>(width));
    if (!(view.focalPixels > 0)) {
      throwUnlessOk(info.Env(), Status::error(Code::kParameter, "truth: expected focalPixels above 0."));
    }
    waitUntilOpen(info.Env());
    scene_->truth(frame, side, view, disparity.data, visible.data);
    return info.Env().Undefined();
  }

  Napi::Value depthAlong(const Napi::CallbackInfo& info) {
    const Napi::Object call = objectAt(info, 0, "the camera");
    const auto frame = static_cast<uint32_t>(readInteger(call, "frame", 0, 0x7fffffff));
    const int32_t count = readInteger(call, "count", 1, kLargestSide * kLargestSide);
    scene::OtherPose pose;
    readNumbers(call, "camera", "rotation", pose.rotation, 9);
    readNumbers(call, "camera", "centre", pose.centre, 3);
    const double* rays = readElements<double>(call, "rays", 2 * static_cast<size_t>(count));
    const auto depth = readImage<float>(call, "depth", count, 1, static_cast<size_t>(count) * sizeof(float));
    waitUntilOpen(info.Env());
    scene_->depthAlong(frame, pose, rays, static_cast<size_t>(count), depth.data);
    return info.Env().Undefined();
  }

  /// Throws if the scene is closed or could not be made.
  void waitUntilOpen(Napi::Env env) {
    if (stop_) throwUnlessOk(env, Status::error(Code::kFailed, "The synthetic scene is closed."));
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [this] { return opened_; });
    }
    throwUnlessOk(env, status_);
  }

  Napi::Value close(const Napi::CallbackInfo& info) {
    stop();
    // Discard frames that were not drawn; their callbacks are never called.
    for (; !jobs_.empty(); jobs_.pop()) {
      --pending_;
      Unref();
    }
    return info.Env().Undefined();
  }

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    scene_->cancel();
    thread_.join();
    scene_.reset();
    forgetEnvironment();
  }

  static void stopWithEnvironment(void* scene) { static_cast<SceneObject*>(scene)->stop(); }

  void forgetEnvironment() {
    napi_remove_env_cleanup_hook(env_, stopWithEnvironment, this);
    rendered_.Release();
  }

  struct Pair {
    uint8_t* left;
    uint8_t* right;
  };

  scene::SceneOptions options_;
  std::unique_ptr<scene::Scene> scene_ = std::make_unique<scene::Scene>();  ///< until close
  std::vector<Pair> images_;
  std::vector<bool> busy_;  ///< JavaScript thread only
  int pending_ = 0;         ///< JavaScript thread only
  Napi::ObjectReference buffers_;
  napi_env env_ = nullptr;
  Rendered rendered_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  JobRing jobs_;
  Status status_;
  bool opened_ = false, stop_ = false;
};

void deliver(Napi::Env env, Napi::Function callback, SceneObject* owner, void* buffer) {
  // Without an environment the process is ending, so there is no callback to call.
  if (env == nullptr || callback.IsEmpty()) return;
  owner->finish(env, callback, static_cast<int32_t>(reinterpret_cast<intptr_t>(buffer) - 1));
}

}  // namespace

void addScene(Napi::Env env, Napi::Object exports) {
  // Once per environment: a class defined at each call would live until the environment ends.
  exports.Set("Scene", SceneObject::define(env));
}

}  // namespace depthwatt
