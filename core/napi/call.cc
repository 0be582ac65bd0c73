// SPDX-License-Identifier: Apache-2.0
// Calls into JavaScript without exceptions; see call.h. Uses plain Node-API, whose status codes report every failure.
#include "call.h"

#include "errors.h"

namespace depthwatt {

napi_value errorOrNull(napi_env env, const Status& status) {
  napi_value null = nullptr, message = nullptr, code = nullptr, error = nullptr;
  napi_get_null(env, &null);
  if (status.ok()) return null;
  const bool made = napi_create_string_utf8(env, status.message, NAPI_AUTO_LENGTH, &message) == napi_ok &&
                    napi_create_string_utf8(env, catalogueCode(status.code), NAPI_AUTO_LENGTH, &code) == napi_ok &&
                    napi_create_error(env, code, message, &error) == napi_ok;
  return made ? error : null;
}

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

}  // namespace depthwatt
