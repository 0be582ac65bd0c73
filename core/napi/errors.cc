// SPDX-License-Identifier: Apache-2.0
// Turns a Status into a JavaScript error; see errors.h.
#include "errors.h"

namespace depthwatt {

const char* catalogueCode(Code code) {
  switch (code) {
    case Code::kParameter: return "ENGINE_PARAMETER";
    case Code::kBackendUnavailable: return "BACKEND_UNAVAILABLE";
    case Code::kFailed: return "ENGINE_FAILED";
    case Code::kMemoryExhausted: return "MEMORY_EXHAUSTED";
    case Code::kFrameLost: return "FRAME_LOST";
    case Code::kGpuLost: return "GPU_LOST";
    case Code::kDeviceUnavailable: return "DEVICE_UNAVAILABLE";
    case Code::kDevicePermission: return "DEVICE_PERMISSION";
    case Code::kDeviceBusy: return "DEVICE_BUSY";
    case Code::kDeviceUnsuitable: return "DEVICE_UNSUITABLE";
    case Code::kOk: break;
  }
  return "INTERNAL";
}

Napi::Error errorFrom(Napi::Env env, const Status& status) {
  Napi::Error error = Napi::Error::New(env, status.message);
  error.Set("code", Napi::String::New(env, catalogueCode(status.code)));
  return error;
}

void throwUnlessOk(Napi::Env env, const Status& status) {
  if (!status.ok()) throw errorFrom(env, status);
}

}  // namespace depthwatt
