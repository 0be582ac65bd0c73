// SPDX-License-Identifier: Apache-2.0
// The operating system as a table of functions: the kernel, or an in-memory driver for tests.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>

namespace v4l2camera {

/// Every function returns 0 or more on success and -errno on failure; signals interrupt none. Two threads may call any
/// except `wait` at once for one descriptor, as the kernel allows.
struct VideoSystem {
  void* self;
  int (*open)(void* self, const char* path);
  int (*close)(void* self, int descriptor);
  int (*control)(void* self, int descriptor, unsigned long request, void* argument);
  /// poll(2); timeoutMs < 0 waits without end.
  int (*wait)(void* self, pollfd* set, int count, int timeoutMs);
  /// mmap(2), shared, read and write; the address goes to *memory.
  int (*map)(void* self, int descriptor, size_t length, int64_t offset, void** memory);
  void (*unmap)(void* self, void* memory, size_t length);
};

/// Returns the table that calls Linux.
const VideoSystem& kernelVideoSystem();

}  // namespace v4l2camera
