// SPDX-License-Identifier: Apache-2.0
// The caller's memory, registered with the device or imported by it, so that frames are copied to and from it without a
// copy in the driver, or not copied at all.
#pragma once

#include <memory>
#include <new>
#include <vector>

#include "../device/check.h"
#include "dma_buffer.h"
#include "input_path.h"

namespace depthwatt {
namespace gpu {

inline Status readDeviceFacts(DeviceFacts* facts) {
  int value = 0;
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrIntegrated, 0));
  facts->integrated = value != 0;
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&facts->major, cudaDevAttrComputeCapabilityMajor, 0));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&facts->minor, cudaDevAttrComputeCapabilityMinor, 0));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&facts->multiprocessors, cudaDevAttrMultiProcessorCount, 0));
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

  void setRule(const InputRule& rule) { rule_ = rule; }
  const InputRule& rule() const { return rule_; }
  /// Returns whether kernels may read images in place.
  bool readsInPlace() const { return rule_.userMemory == InputPath::kUserPointer || rule_.importsDmaBuffers; }

  /// Page-locks memory. Kernels can read it if the rule says kUserPointer.
  void add(const void* memory, size_t bytes) {
    if (memory == nullptr || bytes == 0 || rule_.userMemory == InputPath::kPlainCopy) return;
    void* const address = const_cast<void*>(memory);
    Range range = {static_cast<const uint8_t*>(memory), bytes, nullptr, InputPath::kPinnedCopy, nullptr};
    const bool maps = rule_.userMemory == InputPath::kUserPointer;
    const unsigned how = maps ? cudaHostRegisterMapped : cudaHostRegisterDefault;
    bool known = cudaHostRegister(address, bytes, how) == cudaSuccess;
    if (known && maps) {
      void* mapped = nullptr;
      if (cudaHostGetDevicePointer(&mapped, address, 0) == cudaSuccess) {
        range.onDevice = static_cast<const uint8_t*>(mapped);
        range.path = InputPath::kUserPointer;
      }
    }
    if (known) ranges_.push_back(std::move(range));
    cudaGetLastError();  // clear the error: a later call must not report it
  }

  /// Imports a DMA buffer that is mapped at `memory`, if the rule does so. @returns why it was not imported
  Status import(const InputMemory& input, size_t rowBytes) {
    if (!rule_.importsDmaBuffers) return Status::error(Code::kFailed, "The rule of this device imports no DMA buffer.");
    std::unique_ptr<DmaBuffer> buffer(new (std::nothrow) DmaBuffer);
    if (buffer == nullptr) return Status::error(Code::kFailed, "Not enough memory for a DMA buffer.");
    DEPTHWATT_TRY(buffer->open(input.dmaBuffer, input.bytes, rowBytes));
    const uint8_t* const onDevice = buffer->onDevice();
    ranges_.push_back({input.data, input.bytes, onDevice, InputPath::kDmaBuffer, std::move(buffer)});
    return {};
  }

  /// Returns the device address, or null if kernels cannot read the memory.
  const uint8_t* onDevice(const uint8_t* memory, size_t bytes) const {
    const Range* const range = find(memory, bytes);
    return range != nullptr && range->onDevice != nullptr ? range->onDevice + (memory - range->data) : nullptr;
  }

  /// Returns how an image at this address reaches the kernels.
  InputPath path(const uint8_t* memory, size_t bytes) const {
    const Range* const range = find(memory, bytes);
    return range != nullptr ? range->path : InputPath::kPlainCopy;
  }

  void clear() {
    for (const Range& range : ranges_) {
      if (range.imported == nullptr) cudaHostUnregister(const_cast<uint8_t*>(range.data));
    }
    ranges_.clear();
    cudaGetLastError();
  }

 private:
  struct Range {
    const uint8_t* data;
    size_t bytes;
    const uint8_t* onDevice;
    InputPath path;
    std::unique_ptr<DmaBuffer> imported;
  };
  const Range* find(const uint8_t* memory, size_t bytes) const {
    for (const Range& range : ranges_) {
      if (memory >= range.data && memory + bytes <= range.data + range.bytes) return &range;
    }
    return nullptr;
  }

  InputRule rule_ = {};
  std::vector<Range> ranges_;
};

}  // namespace gpu
}  // namespace depthwatt
