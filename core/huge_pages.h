// SPDX-License-Identifier: Apache-2.0
// A large block of memory in a mapping of its own, which asks for huge pages.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace depthwatt {

/// Not from malloc: MADV_HUGEPAGE stays with the addresses. In an arena whatever comes after the block would inherit it, and
/// each byte that is touched there would cost 2 MiB.
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

  /// At least `bytes` zeros, aligned to kBytes, not touched yet; get() is null where the system has no memory.
  static HugePages of(size_t bytes) {
    HugePages pages;
    const size_t length = (bytes + kBytes - 1) / kBytes * kBytes;
    // The system aligns to small pages; what sticks out at both ends is given back.
    void* mapped = mmap(nullptr, length + kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return pages;
    auto* start = static_cast<uint8_t*>(mapped);
    const size_t before = (kBytes - reinterpret_cast<uintptr_t>(start) % kBytes) % kBytes;
    if (before > 0) munmap(start, before);
    munmap(start + before + length, kBytes - before);
    pages.memory_ = start + before;
    pages.bytes_ = length;
    madvise(pages.memory_, length, MADV_HUGEPAGE);  // fewer misses in the address translation; no harm where refused
    return pages;
  }

  uint8_t* get() const { return memory_; }
  size_t bytes() const { return bytes_; }

 private:
  uint8_t* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace depthwatt
