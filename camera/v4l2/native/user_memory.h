// SPDX-License-Identifier: Apache-2.0
// Image memory of this process, for cameras that write into it (USERPTR) and GPUs that read it. Each buffer has its own
// pages, so that a device can page-lock one without its neighbour.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace v4l2camera {

class UserMemory {
 public:
  /// Returns `count` buffers of at least `bytes`, or null without memory.
  static std::shared_ptr<UserMemory> make(size_t count, size_t bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t each = (bytes + page - 1) / page * page;
    // Populated, so that the first image does not wait for its pages.
    void* data = mmap(nullptr, count * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (data == MAP_FAILED) return nullptr;
    return std::shared_ptr<UserMemory>(new UserMemory(static_cast<uint8_t*>(data), count, each));
  }
  ~UserMemory() { munmap(data_, count_ * each_); }
  UserMemory(const UserMemory&) = delete;
  UserMemory& operator=(const UserMemory&) = delete;

  size_t count() const { return count_; }
  size_t bytes() const { return each_; }
  uint8_t* buffer(size_t index) const { return data_ + index * each_; }

 private:
  UserMemory(uint8_t* data, size_t count, size_t each) : data_(data), count_(count), each_(each) {}

  uint8_t* data_;
  size_t count_, each_;
};

}  // namespace v4l2camera
