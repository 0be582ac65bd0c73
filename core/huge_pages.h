// SPDX-License-Identifier: Apache-2.0
// A large block of memory in its own mapping, backed by huge pages if possible.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace depthwatt {

/// Owns a mapping. It does not use malloc, because MADV_HUGEPAGE applies to addresses: a later block of the arena would
/// inherit it, and each byte touched there could cost 2 MiB.
class HugePages {
 public:
  static constexpr size_t kBytes = size_t{2} << 20;

  HugePages() = default;
  HugePages(HugePages&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HugePages& operator=(HugePages&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HugePages() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }

  /// Returns at least `bytes` zeros, aligned to kBytes and not yet touched. get() returns null if there is no memory.
  static HugePages of(size_t bytes) {
    HugePages pages;
    const size_t length = (bytes + kBytes - 1) / kBytes * kBytes;
    // mmap aligns to small pages; return what exceeds the aligned block at both ends.
    void* mapped = mmap(nullptr, length + kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return pages;
    auto* start = static_cast<uint8_t*>(mapped);
    const size_t before = (kBytes - reinterpret_cast<uintptr_t>(start) % kBytes) % kBytes;
    if (before > 0) munmap(start, before);
    munmap(start + before + length, kBytes - before);
    pages.memory_ = start + before;
    pages.bytes_ = length;
    madvise(pages.memory_, length, MADV_HUGEPAGE);  // fewer TLB misses; ignored if refused
    return pages;
  }

  uint8_t* get() const { return memory_; }
  size_t bytes() const { return bytes_; }

 private:
  uint8_t* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace depthwatt
