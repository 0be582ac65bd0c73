// SPDX-License-Identifier: Apache-2.0
// Partitions of the device's multiprocessors (green contexts), for timings on fewer of them.
#pragma once

#include <cuda.h>

#include "bench_frame.h"

namespace depthwatt {

inline void require(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    const char* text = "";
    cuGetErrorString(result, &text);
    fail(std::string(what) + ": " + text);
  }
}

/// Makes the calling thread work on `sms` multiprocessors alone; what is opened from now on belongs to that partition.
inline void enterPartition(int sms) {
  CUdevice device;
  CUdevResource all, part, rest;
  CUdevResourceDesc description;
  CUgreenCtx green;
  CUcontext context;
  unsigned groups = 1;
  require(cuDeviceGet(&device, 0), "device");
  require(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM), "multiprocessors");
  require(cuDevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, static_cast<unsigned>(sms)), "split");
  require(cuDevResourceGenerateDesc(&description, &part, 1), "partition");
  require(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM), "green context");
  require(cuCtxFromGreenCtx(&context, green), "green context");
  require(cuCtxSetCurrent(context), "green context");
}

/// Back to the whole card.
inline void enterWhole() {
  CUdevice device;
  CUcontext context;
  require(cuDeviceGet(&device, 0), "device");
  require(cuDevicePrimaryCtxRetain(&context, device), "context");
  require(cuCtxSetCurrent(context), "context");
}

}  // namespace depthwatt
