// SPDX-License-Identifier: Apache-2.0
// Calls JavaScript functions from a libuv callback, which has no JavaScript frame below it. Never throws, in any
// state of the environment.
#pragma once

#include <napi.h>

namespace v4l2camera {

/// Calls `function` as libuv's callbacks do, including microtasks. Its exceptions become uncaught exceptions. In a
/// worker thread that is being terminated it calls nothing: every Node-API call fails there, and an exception of
/// node-addon-api would end the process because no caller of a libuv callback catches it.
void callBack(napi_env env, const Napi::FunctionReference& function, napi_async_context context, size_t count,
              const napi_value* arguments);

}  // namespace v4l2camera
