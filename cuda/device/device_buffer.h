// SPDX-License-Identifier: Apache-2.0
// Device memory that is taken at open and given back when its owner goes.
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

}  // namespace depthwatt
