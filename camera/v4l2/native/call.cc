// SPDX-License-Identifier: Apache-2.0
// Calls into JavaScript without exceptions; see call.h. Uses plain Node-API, whose status codes report every failure.
#include "call.h"

namespace v4l2camera {

void callBack(napi_env env, const Napi::FunctionReference& function, napi_async_context context, size_t count,
              const napi_value* arguments) {
  napi_value global = nullptr, target = nullptr, result = nullptr;
  if (napi_get_global(env, &global) != napi_ok) return;
  if (napi_get_reference_value(env, function, &target) != napi_ok || target == nullptr) return;
  if (napi_make_callback(env, context, global, target, count, arguments, &result) == napi_ok) return;
  bool pending = false;
  napi_value thrown = nullptr;
  if (napi_is_exception_pending(env, &pending) != napi_ok || !pending) return;
  if (napi_get_and_clear_last_exception(env, &thrown) == napi_ok) napi_fatal_exception(env, thrown);
}

}  // namespace v4l2camera
