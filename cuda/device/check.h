// SPDX-License-Identifier: Apache-2.0
// Turns CUDA errors into a Status that names the call. A call is evaluated once; an error is never printed and never
// fatal.
#pragma once

#include <cuda_runtime.h>

#include "../../core/status.h"

namespace depthwatt {

inline Status cudaStatus(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  return Status::error(Code::kFailed, "CUDA: %s: %s (%s).", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

/// Returns the launch error of a kernel, with its name.
inline Status launched(const char* kernel) { return cudaStatus(cudaGetLastError(), kernel); }

/// Returns from the calling function with the Status of a CUDA call that failed.
#define DEPTHWATT_CUDA(call)                                                          \
  do {                                                                                \
    const ::depthwatt::Status depthwattStatus = ::depthwatt::cudaStatus(call, #call); \
    if (!depthwattStatus.ok()) return depthwattStatus;                                \
  } while (false)

/// Returns from the calling function with a Status that is not ok.
#define DEPTHWATT_TRY(call)                             \
  do {                                                  \
    const ::depthwatt::Status depthwattStatus = (call); \
    if (!depthwattStatus.ok()) return depthwattStatus;  \
  } while (false)

}  // namespace depthwatt
