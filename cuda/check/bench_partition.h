// SPDX-License-Identifier: Apache-2.0
// Partitions of the device's multiprocessors (green contexts), for timings on fewer of them.
#pragma once

#include <cuda.h>

#include "program.h"

namespace depthwatt {

inline void require(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    const char* text = "";
    cuGetErrorString(result, &text);
    fail(std::string(what) + ": " + text);
  }
}

inline CUcontext greenContext(CUdevice device, CUdevResource* multiprocessors) {
  CUdevResourceDesc description;
  CUgreenCtx green;
  CUcontext context;
  require(cuDevResourceGenerateDesc(&description, multiprocessors, 1), "partition");
  require(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM), "green context");
  require(cuCtxFromGreenCtx(&context, green), "green context");
  return context;
}

/// Makes the calling thread work only on `sms` multiprocessors; contexts that are opened later belong to that partition.
/// @param rest if given: a context of all other multiprocessors
inline void enterPartition(int sms, CUcontext* rest = nullptr) {
  CUdevice device;
  CUdevResource all, part, others;
  unsigned groups = 1;
  require(cuInit(0), "driver");
  require(cuDeviceGet(&device, 0), "device");
  require(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM), "multiprocessors");
  require(cuDevSmResourceSplitByCount(&part, &groups, &all, &others, 0, static_cast<unsigned>(sms)), "split");
  const CUcontext own = greenContext(device, &part);
  if (rest != nullptr) *rest = greenContext(device, &others);
  require(cuCtxSetCurrent(own), "green context");
}

/// Returns to the whole card.
inline void enterWhole() {
  CUdevice device;
  CUcontext context;
  require(cuDeviceGet(&device, 0), "device");
  require(cuDevicePrimaryCtxRetain(&context, device), "context");
  require(cuCtxSetCurrent(context), "context");
}

}  // namespace depthwatt
