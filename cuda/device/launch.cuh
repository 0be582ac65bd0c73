// SPDX-License-Identifier: Apache-2.0
// Launches that overlap (programmatic dependent launch, from 9.0 on): a kernel's blocks start while the previous kernel
// of the stream ends, and wait in untilKernelBefore before they touch memory. On older devices this is a normal launch.
#pragma once

#include "check.h"

namespace depthwatt {
namespace gpu {

#if defined(__CUDACC__) && CUDART_VERSION >= 12030
#define DEPTHWATT_LAUNCHES_OVERLAP
#endif

/// Returns whether the kernel was compiled with the wait. PTX of an older architecture lacks it on every device.
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
