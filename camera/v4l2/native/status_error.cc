// SPDX-License-Identifier: Apache-2.0
// The JavaScript codes of a Status.
#include "status_error.h"

namespace v4l2camera {
namespace {

const char* codeName(Code code) {
  switch (code) {
    case Code::kParameter: return "INVALID_ARGUMENT";
    case Code::kDevicePermission: return "DEVICE_PERMISSION";
    case Code::kDeviceBusy: return "DEVICE_BUSY";
    case Code::kDeviceUnsuitable: return "DEVICE_UNSUITABLE";
    case Code::kDeviceUnavailable:
    case Code::kOk: break;
  }
  return "DEVICE_UNAVAILABLE";
}

}  // namespace

Napi::Error errorFrom(Napi::Env env, const Status& status) {
  Napi::Error error = Napi::Error::New(env, status.message);
  error.Set("code", Napi::String::New(env, codeName(status.code)));
  return error;
}

void throwUnlessOk(Napi::Env env, const Status& status) {
  if (!status.ok()) throw errorFrom(env, status);
}

}  // namespace v4l2camera
