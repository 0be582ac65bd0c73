// SPDX-License-Identifier: Apache-2.0
// Memory of another driver, such as a camera's, imported through the descriptor of its DMA buffer (VIDIOC_EXPBUF).
// CUDA's external memory comes first, then EGL where the platform has it (JetPack).
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "../device/check.h"

#if defined(__has_include)
#if __has_include(<cuda_egl_interop.h>) && __has_include(<EGL/egl.h>) && __has_include(<EGL/eglext.h>)
#define DEPTHWATT_HAS_EGL 1
#endif
#endif
#ifdef DEPTHWATT_HAS_EGL
#define EGL_NO_X11
#define MESA_EGL_NO_X11_HEADERS
#include "egl_buffer.h"
#endif

namespace depthwatt {
namespace gpu {

class DmaBuffer {
 public:
  DmaBuffer() = default;
  ~DmaBuffer() { close(); }
  DmaBuffer(const DmaBuffer&) = delete;
  DmaBuffer& operator=(const DmaBuffer&) = delete;

  /// Imports a buffer; the descriptor stays the caller's. @param rowBytes of the image in it
  Status open(int descriptor, size_t bytes, size_t rowBytes) {
    const Status imported = importMemory(descriptor, bytes);
#ifdef DEPTHWATT_HAS_EGL
    if (!imported.ok() && egl_.open(descriptor, bytes, rowBytes).ok()) onDevice_ = egl_.onDevice();
#else
    (void)rowBytes;
#endif
    cudaGetLastError();  // clear the error: a later call must not report it
    return onDevice_ != nullptr ? Status() : imported;
  }

  /// Returns the address for kernels, or null.
  const uint8_t* onDevice() const { return onDevice_; }

 private:
  Status importMemory(int descriptor, size_t bytes) {
    cudaExternalMemoryHandleDesc handle = {};
    handle.type = cudaExternalMemoryHandleTypeOpaqueFd;
    // CUDA owns the descriptor that it imported.
    handle.handle.fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    handle.size = bytes;
    if (handle.handle.fd < 0) return Status::error(Code::kFailed, "A DMA buffer's descriptor is not open.");
    const cudaError_t imported = cudaImportExternalMemory(&memory_, &handle);
    if (imported != cudaSuccess) {
      memory_ = nullptr;
      ::close(handle.handle.fd);
      return cudaStatus(imported, "cudaImportExternalMemory");
    }
    cudaExternalMemoryBufferDesc whole = {};
    whole.size = bytes;
    void* mapped = nullptr;
    const Status status =
        cudaStatus(cudaExternalMemoryGetMappedBuffer(&mapped, memory_, &whole), "cudaExternalMemoryGetMappedBuffer");
    onDevice_ = status.ok() ? static_cast<const uint8_t*>(mapped) : nullptr;
    if (!status.ok()) close();
    return status;
  }

  void close() {
    if (memory_ != nullptr) {
      if (onDevice_ != nullptr) cudaFree(const_cast<uint8_t*>(onDevice_));
      cudaDestroyExternalMemory(memory_);
    }
    memory_ = nullptr;
    onDevice_ = nullptr;
    cudaGetLastError();
  }

  cudaExternalMemory_t memory_ = nullptr;
  const uint8_t* onDevice_ = nullptr;
#ifdef DEPTHWATT_HAS_EGL
  EglBuffer egl_;
#endif
};

}  // namespace gpu
}  // namespace depthwatt
