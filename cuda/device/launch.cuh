// SPDX-License-Identifier: Apache-2.0
// Launches that overlap (programmatic dependent launch, from 9.0 on): a kernel's blocks begin where the last ones of the kernel
// before it on the stream end, or where these allow it, and wait by themselves before they read. Elsewhere a launch like any.
#pragma once

#include "check.h"

namespace depthwatt {
namespace gpu {

#if defined(__CUDACC__) && CUDART_VERSION >= 12030
#define DEPTHWATT_LAUNCHES_OVERLAP
#endif

/// Whether the kernel has been compiled with the waiting in it; PTX of an older architecture has not, whatever runs it.
inline bool waitsForKernelBefore(const void* kernel) {
#ifdef DEPTHWATT_LAUNCHES_OVERLAP
  cudaFuncAttributes attributes = {};
  if (cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess)
    return attributes.ptxVersion >= 90 && attributes.binaryVersion >= 90;
  cudaGetLastError();
#endif
  (void)kernel;
  return false;
}

struct LaunchShape {
  dim3 grid, block;
  size_t sharedBytes;
  cudaStream_t stream;
  bool overlaps;  ///< all of its threads call untilKernelBefore before they touch memory
};

template <class... Parameters, class... Arguments>
Status launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, Arguments... arguments) {
#ifdef DEPTHWATT_LAUNCHES_OVERLAP
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid, config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.sharedBytes, config.stream = shape.stream;
  config.attrs = &overlap, config.numAttrs = shape.overlaps ? 1 : 0;
  const cudaError_t result = cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
  if (result != cudaSuccess) {
    cudaGetLastError();
    return cudaStatus(result, name);
  }
  return {};
#else
  kernel<<<shape.grid, shape.block, shape.sharedBytes, shape.stream>>>(arguments...);
  return launched(name);
#endif
}

}  // namespace gpu
}  // namespace depthwatt
