// SPDX-License-Identifier: Apache-2.0
// The caller's memory, registered with the device, so that frames are copied to and from it without a copy in the
// driver.
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

/// If the system cannot page-lock some memory, copies from it are slower; nothing else changes.
class HostMemory {
 public:
  HostMemory() = default;
  ~HostMemory() { clear(); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  void setPath(InputPath path) { path_ = path; }
  InputPath path() const { return path_; }

  /// Page-locks memory. Kernels can read it if the path is kMapped.
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
    cudaGetLastError();  // clear the error: a later call must not report it
  }

  /// Returns the device address, or null if kernels cannot read the memory.
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
