// SPDX-License-Identifier: Apache-2.0
// Calls JavaScript functions from a libuv callback, where no JavaScript is on the stack. Never throws, whatever state the
// environment is in.
#pragma once

#include <napi.h>

namespace v4l2camera {

/// Calls `function` as libuv's callbacks do, microtasks included. What it throws is an uncaught exception, as from any other
/// callback. In a worker thread that is being terminated nothing is called: there every Node-API call fails, and
/// node-addon-api's exceptions would end the process, because nobody above a libuv callback catches them.
void callBack(napi_env env, const Napi::FunctionReference& function, napi_async_context context, size_t count,
              const napi_value* arguments);

}  // namespace v4l2camera
