// SPDX-License-Identifier: Apache-2.0
// Binds depthwatt_shared.h for JavaScript. A thread waits and notifies JavaScript of a newer frame; JavaScript then reads the
// newest one.
#include "ring_reader.h"

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "depthwatt_shared.h"
#include "../../core/napi/arguments.h"
#include "../../core/napi/errors.h"
#include "../../core/workers.h"

namespace depthwatt {
namespace {

/// The connection and the mapping. The memory of frames that JavaScript holds keeps it alive.
struct Mapping {
  depthwatt_shared shared{};
  Mapping() { shared.socket = -1; }
  ~Mapping() { depthwatt_shared_close(&shared); }
};

class RingReader;
void notifyReader(Napi::Env env, Napi::Function callback, RingReader* reader, void* ended);
using Notification = Napi::TypedThreadSafeFunction<RingReader, void, notifyReader>;

class RingReader : public Napi::ObjectWrap<RingReader> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(
        env, "RingReader",
        {InstanceMethod<&RingReader::newest>("newest"), InstanceMethod<&RingReader::isIntact>("isIntact"),
         InstanceMethod<&RingReader::close>("close"), InstanceAccessor<&RingReader::memory>("memory")});
  }

  /// Arguments: path of the socket, number of the stream, timeout in milliseconds, callback(ended).
  explicit RingReader(const Napi::CallbackInfo& info) : Napi::ObjectWrap<RingReader>(info), env_(info.Env()) {
    const std::string path = textAt(info, 0, "the path of a socket");
    const double stream = numberAt(info, 1, "the number of a stream");
    const double timeoutMs = numberAt(info, 2, "a timeout");
    if (info.Length() < 4 || !info[3].IsFunction() || !(stream >= 1 && stream <= 255) ||
        !(timeoutMs >= 1 && timeoutMs <= 60000)) {
      throwUnlessOk(info.Env(),
                    Status::error(Code::kParameter,
                                  "RingReader: expected a path, a stream from 1 to 255, a timeout from 1 to "
                                  "60000 ms and a callback."));
    }
    mapping_ = std::make_shared<Mapping>();
    char error[200] = "the path has a null";
    if (path.find('\0') != std::string::npos ||
        depthwatt_shared_connect(&mapping_->shared, path.c_str(), static_cast<int>(stream), static_cast<int>(timeoutMs),
                                 error, sizeof error) != 0) {
      throwUnlessOk(info.Env(), Status::error(Code::kDeviceUnavailable, "No frames from shared memory: %s.", error));
    }
    socket_ = dup(mapping_->shared.socket);
    notification_ = Notification::New(info.Env(), info[3].As<Napi::Function>(), "depthwatt shared frames", 0, 1, this);
    napi_add_env_cleanup_hook(env_, stopWithEnvironment, this);
    try {
      thread_ = std::thread([this] { wait(); });
    } catch (const std::system_error& failure) {
      forgetEnvironment();
      throw errorFrom(info.Env(), noThread(failure));
    }
    Ref();
  }

  ~RingReader() override { stop(); }

  /// Throws nothing, see core/napi/call.h.
  void notify(napi_env env, napi_value callback, bool ended) {
    notified_.store(false);
    napi_value reason = nullptr, global = nullptr, result = nullptr;
    if (stop_ || napi_get_global(env, &global) != napi_ok) return;
    const napi_status made =
        ended ? napi_create_string_utf8(env, reason_, NAPI_AUTO_LENGTH, &reason) : napi_get_undefined(env, &reason);
    if (made == napi_ok) napi_call_function(env, global, callback, 1, &reason, &result);
  }

 private:
  void wait() {
    if (depthwatt_shared_accept(&mapping_->shared, reason_, sizeof reason_) == 0) {
      ready_.store(true, std::memory_order_release);
      waitForFrames(mapping_->shared);
      std::snprintf(reason_, sizeof reason_, "the publisher has ended or has frames of another size");
    }
    notification_.NonBlockingCall(reinterpret_cast<void*>(intptr_t{2}));
    ended_ = true;
  }

  /// Wakes JavaScript once, however many frames arrive until it looks. @param waiting a copy with a separate position
  void waitForFrames(depthwatt_shared waiting) {
    depthwatt_shared_frame frame;
    while (!stop_) {
      const int found = depthwatt_shared_wait(&waiting, DEPTHWATT_SHARED_LOOK_MS, &frame);
      if (found < 0) return;
      if (found > 0 && !notified_.exchange(true)) notification_.NonBlockingCall(reinterpret_cast<void*>(intptr_t{1}));
    }
  }

  bool isReady() const { return ready_.load(std::memory_order_acquire); }

  /// An ArrayBuffer of the whole mapping, which lives until nothing refers to it any more.
  Napi::Value newMemory(Napi::Env env) {
    const depthwatt_shared& shared = mapping_->shared;
    auto* owner = new std::shared_ptr<Mapping>(mapping_);
    return Napi::ArrayBuffer::New(env, const_cast<unsigned char*>(shared.memory), shared.bytes,
                                  [owner](Napi::Env, void*) { delete owner; });
  }

  /// Undefined until the first frame.
  Napi::Value memory(const Napi::CallbackInfo& info) {
    if (!isReady()) return info.Env().Undefined();
    if (memory_.IsEmpty()) memory_ = Napi::Persistent(newMemory(info.Env()).As<Napi::Object>());
    return memory_.Value();
  }

  /// Returns {number, offset, bytes, missed, publishedNs} of the newest frame, undefined if it was returned before.
  Napi::Value newest(const Napi::CallbackInfo& info) {
    depthwatt_shared_frame frame;
    depthwatt_shared& shared = mapping_->shared;
    if (!isReady() || depthwatt_shared_newest(&shared, &frame) == 0) return info.Env().Undefined();
    auto result = Napi::Object::New(info.Env());
    result.Set("number", static_cast<double>(frame.number));
    result.Set("offset", static_cast<double>(frame.message - shared.memory));
    result.Set("bytes", static_cast<double>(frame.bytes));
    result.Set("missed", static_cast<double>(frame.missed));
    result.Set("publishedNs", Napi::BigInt::New(info.Env(), frame.published_ns));
    return result;
  }

  /// Returns whether frame `number` has not been overwritten.
  Napi::Value isIntact(const Napi::CallbackInfo& info) {
    const double number = numberAt(info, 0, "the number of a frame");
    const depthwatt_shared& shared = mapping_->shared;
    if (!isReady() || !(number >= 1 && number <= 0x1p53)) return Napi::Boolean::New(info.Env(), false);
    depthwatt_shared_frame frame{};
    frame.number = static_cast<uint64_t>(number);
    frame.slot = shared.memory + DEPTHWATT_SHARED_RING_BYTES + (frame.number - 1) % shared.slots * shared.slot_bytes;
    return Napi::Boolean::New(info.Env(), depthwatt_shared_intact(&frame) != 0);
  }

  Napi::Value close(const Napi::CallbackInfo& info) {
    if (thread_.joinable()) {
      stop();
      Unref();
    }
    return info.Env().Undefined();
  }

  void stop() {
    if (!thread_.joinable()) return;
    stop_ = true;
    // The memory stays mapped. The thread and the publisher see the end of the connection.
    shutdown(socket_, SHUT_RDWR);
    // The thread may be about to wait when it is woken: wake it until it has ended. Other readers just look again.
    while (!ended_) {
      if (isReady()) syscall(SYS_futex, mapping_->shared.memory + 64, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    thread_.join();
    ::close(socket_);
    forgetEnvironment();
  }

  static void stopWithEnvironment(void* reader) { static_cast<RingReader*>(reader)->stop(); }

  void forgetEnvironment() {
    napi_remove_env_cleanup_hook(env_, stopWithEnvironment, this);
    notification_.Release();
  }

  napi_env env_;
  std::shared_ptr<Mapping> mapping_;
  /// A second descriptor of the connection: the thread closes the first one if it gets no memory.
  int socket_ = -1;
  char reason_[240] = {};
  Napi::ObjectReference memory_;
  Notification notification_;
  std::thread thread_;
  std::atomic<bool> stop_{false}, notified_{false}, ready_{false}, ended_{false};
};

void notifyReader(Napi::Env env, Napi::Function callback, RingReader* reader, void* ended) {
  if (env == nullptr || callback.IsEmpty()) return;
  reader->notify(env, callback, reinterpret_cast<intptr_t>(ended) == 2);
}

}  // namespace

void addRingReader(Napi::Env env, Napi::Object exports) { exports.Set("RingReader", RingReader::define(env)); }

}  // namespace depthwatt
