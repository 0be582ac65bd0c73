// SPDX-License-Identifier: Apache-2.0
// Divides one block of memory into aligned arrays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace depthwatt {

/// Hands out aligned pieces of one block of memory; without a block it only counts.
class Carver {
 public:
  explicit Carver(uint8_t* base) : base_(base) {}
  template <class T>
  void take(T*& pointer, size_t count) {
    constexpr size_t kAlignment = 64;
    pointer = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }
  size_t used() const { return used_; }

 private:
  uint8_t* base_;
  size_t used_ = 0;
};

}  // namespace depthwatt
