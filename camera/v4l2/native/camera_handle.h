// SPDX-License-Identifier: Apache-2.0
// The JavaScript object of an open camera: the capture, the wake-up of its event loop, and the views of the images.
#pragma once

#include <napi.h>
#include <uv.h>

#include <memory>
#include <vector>

#include "capture.h"

namespace v4l2camera {

class CameraHandle : public std::enable_shared_from_this<CameraHandle> {
 public:
  /// @param capture open and not started. exportTo() creates views and functions.
  CameraHandle(Napi::Env env, std::unique_ptr<Capture> capture, Napi::Array userBuffers);
  ~CameraHandle();
  CameraHandle(const CameraHandle&) = delete;

  Napi::Object exportTo(Napi::Env env);

 private:
  void start(const Napi::CallbackInfo& info);
  Napi::Value close(Napi::Env env);
  void release(Napi::Env env, uint32_t index);
  Napi::Value statistics(Napi::Env env) const;
  Napi::Value events(Napi::Env env);
  void requireOpen(Napi::Env env) const;
  static Napi::Array createViews(Napi::Env env, const std::shared_ptr<UserMemory>& memory);
  void addViews(Napi::Env env, Napi::Object camera);
  void addFunctions(Napi::Env env, Napi::Object camera);
  Napi::ArrayBuffer view(Napi::Env env, void* data, size_t bytes);
  void detach(uint32_t index);

  /// Passes the count of images to the callback. Runs on the JavaScript thread.
  void deliver();
  void afterStop();
  void closeWake();

  friend class CloseWorker;

  /// Lives longer than the handle, until the loop has closed it.
  struct Wake {
    uv_async_t async{};
    CameraHandle* owner = nullptr;
    napi_async_cleanup_hook_handle hook = nullptr;
  };
  static void wakeFromThread(void* wake) { uv_async_send(&static_cast<Wake*>(wake)->async); }
  static void onAsync(uv_async_t* async);
  static void onCleanup(napi_async_cleanup_hook_handle hook, void* wake);

  Napi::Env env_;
  std::unique_ptr<Capture> capture_;
  std::vector<Napi::Reference<Napi::ArrayBuffer>> views_;
  Napi::Reference<Napi::Array> userBuffers_;
  Napi::FunctionReference onWake_;
  std::unique_ptr<Napi::AsyncContext> context_;
  Wake* wake_ = nullptr;
  uint32_t delivered_ = 0;
  bool closing_ = false;
};

}  // namespace v4l2camera
