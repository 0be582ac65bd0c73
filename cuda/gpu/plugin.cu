// SPDX-License-Identifier: Apache-2.0
// The table of libdepthwatt_cuda.so that plugin_abi.h declares, and its probe.
#include <cuda_runtime.h>

#include "../engine/plugin_abi.h"
#include "gpu_backend.h"
#include "probe_sentences.h"

#ifndef DEPTHWATT_CUDA_ARCHS
#define DEPTHWATT_CUDA_ARCHS "an unnamed architecture"
#endif

namespace depthwatt {
namespace gpu {
namespace {

__global__ void probeKernel() {}

Status probe() {
  ProbeFindings found;
  found.architectures = DEPTHWATT_CUDA_ARCHS;
  cudaDriverGetVersion(&found.driverVersion);
  cudaRuntimeGetVersion(&found.runtimeVersion);
  const cudaError_t counted = cudaGetDeviceCount(&found.devices);
  cudaGetLastError();
  cudaDeviceProp properties;
  if (counted == cudaErrorInsufficientDriver) {
    found.driverAccepted = false;
  } else if (counted == cudaErrorNoDevice) {
    found.devices = 0;
  } else if (counted != cudaSuccess) {
    found.otherError = cudaGetErrorString(counted);
  } else if (found.devices > 0) {
    const cudaError_t read = cudaGetDeviceProperties(&properties, 0);
    if (read != cudaSuccess) {
      found.otherError = cudaGetErrorString(read);
      return probeStatus(found);
    }
    found.major = properties.major, found.minor = properties.minor, found.deviceName = properties.name;
    cudaFuncAttributes attributes;
    const cudaError_t code = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(probeKernel));
    cudaGetLastError();
    found.codeForDevice = code != cudaErrorNoKernelImageForDevice && code != cudaErrorInvalidDeviceFunction;
    if (found.codeForDevice && code != cudaSuccess) found.otherError = cudaGetErrorString(code);
  }
  return probeStatus(found);
}

const PluginTable kTable = {kPluginAbiVersion, probe, openGpuBackend};

}  // namespace
}  // namespace gpu
}  // namespace depthwatt

extern "C" __attribute__((visibility("default"))) const depthwatt::PluginTable* depthwatt_plugin() {
  return &depthwatt::gpu::kTable;
}
