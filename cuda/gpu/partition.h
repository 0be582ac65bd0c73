// SPDX-License-Identifier: Apache-2.0
// Parts of a card for the checks and timings: a green context of so many multiprocessors, and the card's others.
#pragma once

#include <cuda.h>

#include <string>

namespace depthwatt {

/// Contexts of two disjoint parts of the first card; rest is null where none was asked for.
struct Partition {
  CUcontext part = nullptr, rest = nullptr;
};

/// Throws a sentence (std::string) on an error of the driver.
inline void requireDriver(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = "";
  cuGetErrorString(result, &text);
  throw std::string(what) + ": " + text;
}

inline CUcontext contextOf(CUdevice device, CUdevResource* resource) {
  CUdevResourceDesc description;
  CUgreenCtx green;
  CUcontext context;
  requireDriver(cuDevResourceGenerateDesc(&description, resource, 1), "partition");
  requireDriver(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM), "green context");
  requireDriver(cuCtxFromGreenCtx(&context, green), "green context");
  return context;
}

/// Makes the calling thread work on `sms` multiprocessors alone; what is opened from now on belongs to that part.
inline Partition enterPartition(int sms, bool withRest = false) {
  CUdevice device;
  CUdevResource all, part, rest;
  unsigned groups = 1;
  Partition partition;
  requireDriver(cuInit(0), "driver");
  requireDriver(cuDeviceGet(&device, 0), "device");
  requireDriver(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM), "multiprocessors");
  requireDriver(cuDevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, static_cast<unsigned>(sms)), "split");
  partition.part = contextOf(device, &part);
  if (withRest) partition.rest = contextOf(device, &rest);
  requireDriver(cuCtxSetCurrent(partition.part), "green context");
  return partition;
}

/// Back to the whole card.
inline void enterWhole() {
  CUdevice device;
  CUcontext context;
  requireDriver(cuDeviceGet(&device, 0), "device");
  requireDriver(cuDevicePrimaryCtxRetain(&context, device), "context");
  requireDriver(cuCtxSetCurrent(context), "context");
}

}  // namespace depthwatt
