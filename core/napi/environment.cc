// SPDX-License-Identifier: Apache-2.0
// See environment.h.
#include "environment.h"

#include <uv.h>

namespace depthwatt {
namespace {

/// A hook holds a reference to the state until it is removed.
struct KeptEnvironment {
  uv_async_t async{};
  napi_async_cleanup_hook_handle hook = nullptr;
};

void release(uv_handle_t* handle) {
  auto* const kept = static_cast<KeptEnvironment*>(handle->data);
  napi_remove_async_cleanup_hook(kept->hook);
  delete kept;
}

void closeAsync(napi_async_cleanup_hook_handle, void* data) {
  uv_close(reinterpret_cast<uv_handle_t*>(&static_cast<KeptEnvironment*>(data)->async), release);
}

}  // namespace

void keepEnvironment(napi_env env) {
  uv_loop_t* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok) return;
  auto* const kept = new KeptEnvironment;
  kept->async.data = kept;
  uv_async_init(loop, &kept->async, [](uv_async_t*) {});
  uv_unref(reinterpret_cast<uv_handle_t*>(&kept->async));
  napi_add_async_cleanup_hook(env, closeAsync, kept, &kept->hook);
}

}  // namespace depthwatt
