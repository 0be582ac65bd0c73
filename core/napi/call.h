// SPDX-License-Identifier: Apache-2.0
// Calls into JavaScript from libuv callbacks, which have no JavaScript frame below them. Never throws, in any
// state of the environment.
#pragma once

#include <napi.h>

#include "../status.h"

namespace depthwatt {

/// Returns an Error with the code of `status`. Returns null if the status is ok or the environment can no longer create
/// one.
napi_value errorOrNull(napi_env env, const Status& status);

/// Calls `function` as libuv's callbacks do, including microtasks. Its exceptions become uncaught exceptions. In a
/// worker thread that is being terminated it calls nothing: every Node-API call fails there, and an exception of
/// node-addon-api would end the process because no caller of a libuv callback catches it.
void callBack(napi_env env, const Napi::FunctionReference& function, napi_async_context context, size_t count,
              const napi_value* arguments);

}  // namespace depthwatt
