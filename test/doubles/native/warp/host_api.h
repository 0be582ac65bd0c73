// SPDX-License-Identifier: Apache-2.0
// The host's half of the CUDA emulation (see cuda_runtime.h): memory, streams, events and graphs, as far as this project uses them.
// Work is done when it is queued, or when the graph that captured it is launched.
//
// It is as strict as CUDA where mistakes are easy: a capture must be joined, is isolated from uncaptured streams, and allows neither
// allocation nor waiting. Environment variables make it fail, or simulate another device:
//   WARP_DEVICE=integrated,72,register,map,import   the device's properties; default: 90,register,map
//   WARP_FAIL_LAUNCH=n    the n-th kernel launch fails          WARP_FAIL_SYNC=n,m   at these waits for an event the context
//   WARP_FAIL_RESET=1     a broken context stays broken         breaks, and every later call fails until a reset
//   WARP_LOG=file         logs every registration of host memory, copy to the device, graph launch and reset
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

#define CUDART_VERSION 13000

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorHostMemoryAlreadyRegistered = 712,
  cudaErrorHostMemoryNotRegistered = 713,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
};
struct EmulatedStream;
struct EmulatedEvent;
struct EmulatedGraph;
using cudaStream_t = EmulatedStream*;
using cudaEvent_t = EmulatedEvent*;
using cudaGraph_t = EmulatedGraph*;
using cudaGraphExec_t = EmulatedGraph*;
struct cudaDeviceProp {
  char name[256];
  int major, minor, multiProcessorCount;
};
/// The address of the array that it reads.
using cudaTextureObject_t = unsigned long long;
enum { cudaResourceTypeLinear = 2, cudaReadModeElementType = 0 };
struct cudaChannelFormatDesc {
  int bits;
};
struct cudaResourceDesc {
  int resType;
  struct {
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
  } res;
};
struct cudaTextureDesc {
  int readMode;
};
struct cudaFuncAttributes {
  int numRegs;
};
struct EmulatedImport;
using cudaExternalMemory_t = EmulatedImport*;
enum cudaExternalMemoryHandleType { cudaExternalMemoryHandleTypeOpaqueFd = 1 };
struct cudaExternalMemoryHandleDesc {
  cudaExternalMemoryHandleType type;
  union {
    int fd;
  } handle;
  unsigned long long size;
  unsigned flags;
};
struct cudaExternalMemoryBufferDesc {
  unsigned long long offset, size;
  unsigned flags;
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum {
  cudaStreamNonBlocking = 1,
  cudaEventBlockingSync = 1,
  cudaEventDisableTiming = 2,
  cudaEventRecordExternal = 1,
  cudaHostRegisterDefault = 0,
  cudaHostRegisterMapped = 2,
};
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal = 0, cudaStreamCaptureModeThreadLocal = 1 };
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrHostRegisterSupported = 99,
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum { cudaSharedmemCarveoutMaxShared = 100 };

namespace warp {

/// Queues a kernel.
void launch(cudaStream_t stream, std::function<void()> work);
/// Sets this thread's error, which cudaGetLastError returns.
void setError(cudaError_t error);

}  // namespace warp

cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaFree(void* memory);
/// Allocates page-locked memory: a word or two, not counted.
cudaError_t cudaMallocHost(void** memory, size_t bytes);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemset(void* at, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* memory);
cudaError_t cudaHostGetDevicePointer(void** device, void* memory, unsigned flags);

/// Maps the file; only a device with the word "import" does.
cudaError_t cudaImportExternalMemory(cudaExternalMemory_t* memory, const cudaExternalMemoryHandleDesc* handle);
cudaError_t cudaExternalMemoryGetMappedBuffer(void** onDevice, cudaExternalMemory_t memory,
                                              const cudaExternalMemoryBufferDesc* part);
cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t memory);

cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
inline cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to);

cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
inline cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) { return cudaSuccess; }
template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  return {8 * sizeof(T)};
}
inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                           const cudaTextureDesc*, const void*) {
  *texture = reinterpret_cast<cudaTextureObject_t>(resource->res.linear.devPtr);
  return cudaSuccess;
}
inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t) { return cudaSuccess; }
