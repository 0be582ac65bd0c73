// SPDX-License-Identifier: Apache-2.0
// A vector aligned to a cache line. A 64-byte register that is loaded or stored across two lines takes twice as long.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace depthwatt {

constexpr std::size_t kCacheLineBytes = 64;

template <class T>
struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <class Other>
  CacheLineAllocator(const CacheLineAllocator<Other>&) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{kCacheLineBytes}));
  }
  void deallocate(T* data, std::size_t) { ::operator delete(data, std::align_val_t{kCacheLineBytes}); }
  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) { return true; }
  friend bool operator!=(const CacheLineAllocator&, const CacheLineAllocator&) { return false; }
};

template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace depthwatt
