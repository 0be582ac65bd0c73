// SPDX-License-Identifier: Apache-2.0
// Owners of device memory and of page-locked host memory. Both are allocated at open and freed by the destructor.
#pragma once

#include <cstddef>

#include "check.h"

namespace depthwatt {

template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer() {
    if (data_ != nullptr) cudaFree(data_);
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  Status allocate(size_t count) {
    bytes_ = count * sizeof(T);
    return cudaStatus(cudaMalloc(reinterpret_cast<void**>(&data_), bytes_ > 0 ? bytes_ : 1), "device memory");
  }
  T* get() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  T* data_ = nullptr;
  size_t bytes_ = 0;
};

/// A value in page-locked host memory: the target of an asynchronous copy.
template <class T>
class HostValue {
 public:
  HostValue() = default;
  ~HostValue() {
    if (data_ != nullptr) cudaFreeHost(data_);
  }
  HostValue(const HostValue&) = delete;
  HostValue& operator=(const HostValue&) = delete;

  Status allocate() {
    return cudaStatus(cudaMallocHost(reinterpret_cast<void**>(&data_), sizeof(T)), "page-locked memory");
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

/// Returns the priority of an engine's streams, those of its matcher included: lower numbers go first, and 0 is the
/// default and the last.
inline Status streamPriority(int32_t rank, int* priority) {
  int least = 0, greatest = 0;
  if (rank > 0) DEPTHWATT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  const int ranked = greatest + rank - 1;
  *priority = rank == 0 ? 0 : ranked < least ? ranked : least;
  return {};
}

}  // namespace depthwatt
