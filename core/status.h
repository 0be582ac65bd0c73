// SPDX-License-Identifier: Apache-2.0
// The result of native code: a code and a sentence. Native code never prints, exits, aborts or throws.
#pragma once

#include <cstdarg>
#include <cstdio>

namespace depthwatt {

/// Each value matches one code of core/error-catalogue.ts; napi/errors.cc maps them.
enum class Code {
  kOk,
  kParameter,           ///< ENGINE_PARAMETER: a value outside its range
  kBackendUnavailable,  ///< BACKEND_UNAVAILABLE: the backend or instruction set is missing
  kFailed,              ///< ENGINE_FAILED: the computation failed
  kMemoryExhausted,     ///< MEMORY_EXHAUSTED: out of memory
  kFrameLost,           ///< FRAME_LOST: this frame has no result; the engine continues
  kGpuLost,             ///< GPU_LOST: the GPU failed in mid-run, and nothing may take over
  kDeviceUnavailable,   ///< DEVICE_UNAVAILABLE: the camera is missing or was unplugged
  kDevicePermission,    ///< DEVICE_PERMISSION: the user may not open the camera
  kDeviceBusy,          ///< DEVICE_BUSY: another process streams from the camera
  kDeviceUnsuitable,    ///< DEVICE_UNSUITABLE: the device cannot do what is requested
};

struct Status {
  Code code = Code::kOk;
  char message[240] = {};  // not = "": g++ 9 and 10 refuse it in a constant expression

  bool ok() const { return code == Code::kOk; }

  [[gnu::format(printf, 2, 3)]] static Status error(Code code, const char* format, ...) {
    Status status;
    status.code = code;
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(status.message, sizeof status.message, format, arguments);
    va_end(arguments);
    return status;
  }
};

}  // namespace depthwatt
