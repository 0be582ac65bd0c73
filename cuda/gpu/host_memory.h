// SPDX-License-Identifier: Apache-2.0
// The caller's memory that is known to the device: frames come from it and go to it without a copy of the driver's between.
#pragma once

#include <vector>

#include "../device/check.h"
#include "input_path.h"

namespace depthwatt {
namespace gpu {

inline Status readDeviceFacts(DeviceFacts* facts) {
  int value = 0;
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrIntegrated, 0));
  facts->integrated = value != 0;
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&facts->major, cudaDevAttrComputeCapabilityMajor, 0));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&facts->minor, cudaDevAttrComputeCapabilityMinor, 0));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrHostRegisterSupported, 0));
  facts->registersHostMemory = value != 0;
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrCanMapHostMemory, 0));
  facts->mapsHostMemory = value != 0;
  return {};
}

/// Where the system does not page-lock some memory, copies from it are slower and nothing else changes.
class HostMemory {
 public:
  HostMemory() = default;
  ~HostMemory() { clear(); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  void setPath(InputPath path) { path_ = path; }
  InputPath path() const { return path_; }

  /// Page-locks it; the kernels can read it where the path is kMapped.
  void add(const void* memory, size_t bytes) {
    if (memory == nullptr || bytes == 0 || path_ == InputPath::kPlainCopy) return;
    void* const address = const_cast<void*>(memory);
    Range range = {static_cast<const uint8_t*>(memory), bytes, nullptr};
    const unsigned how = path_ == InputPath::kMapped ? cudaHostRegisterMapped : cudaHostRegisterDefault;
    bool known = cudaHostRegister(address, bytes, how) == cudaSuccess;
    if (known && path_ == InputPath::kMapped) {
      void* mapped = nullptr;
      if (cudaHostGetDevicePointer(&mapped, address, 0) == cudaSuccess)
        range.onDevice = static_cast<const uint8_t*>(mapped);
    }
    if (known) ranges_.push_back(range);
    cudaGetLastError();  // a refusal here is no error of a later call
  }

  /// Where kernels find it; null where they cannot.
  const uint8_t* onDevice(const uint8_t* memory, size_t bytes) const {
    for (const Range& range : ranges_) {
      const bool inside = memory >= range.data && memory + bytes <= range.data + range.bytes;
      if (inside && range.onDevice != nullptr) return range.onDevice + (memory - range.data);
    }
    return nullptr;
  }

  void clear() {
    for (const Range& range : ranges_) cudaHostUnregister(const_cast<uint8_t*>(range.data));
    ranges_.clear();
    cudaGetLastError();
  }

 private:
  struct Range {
    const uint8_t* data;
    size_t bytes;
    const uint8_t* onDevice;
  };
  InputPath path_ = InputPath::kPlainCopy;
  std::vector<Range> ranges_;
};

}  // namespace gpu
}  // namespace depthwatt
