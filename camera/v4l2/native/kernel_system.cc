// SPDX-License-Identifier: Apache-2.0
// The function table that calls the kernel.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "system.h"

namespace v4l2camera {
namespace {

template <class Call>
int untilDone(Call call) {
  for (;;) {
    const int result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

int kernelOpen(void*, const char* path) {
  return untilDone([&] { return ::open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC); });
}

// Linux frees the descriptor even if close() returns EINTR: a second try could close another one.
int kernelClose(void*, int descriptor) { return ::close(descriptor) < 0 && errno != EINTR ? -errno : 0; }

int kernelControl(void*, int descriptor, unsigned long request, void* argument) {
  return untilDone([&] { return ::ioctl(descriptor, request, argument); });
}

int kernelWait(void*, pollfd* set, int count, int timeoutMs) {
  return untilDone([&] { return ::poll(set, static_cast<nfds_t>(count), timeoutMs); });
}

int kernelMap(void*, int descriptor, size_t length, int64_t offset, void** memory) {
  void* address = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, offset);
  if (address == MAP_FAILED) return -errno;
  *memory = address;
  return 0;
}

void kernelUnmap(void*, void* memory, size_t length) { ::munmap(memory, length); }

}  // namespace

const VideoSystem& kernelVideoSystem() {
  static const VideoSystem system{nullptr, kernelOpen, kernelClose, kernelControl, kernelWait, kernelMap, kernelUnmap};
  return system;
}

}  // namespace v4l2camera
