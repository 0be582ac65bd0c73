// SPDX-License-Identifier: Apache-2.0
// Imports a DMA buffer through EGL, which JetPack's CUDA maps. The library is loaded at run time. Not run on a board yet.
#pragma once

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <cuda_egl_interop.h>
#include <dlfcn.h>

#include "../device/check.h"

namespace depthwatt {
namespace gpu {

/// The functions of libEGL and the display without a screen; opened once for the process.
struct EglLibrary {
  PFNEGLCREATEIMAGEKHRPROC createImage = nullptr;
  PFNEGLDESTROYIMAGEKHRPROC destroyImage = nullptr;
  EGLDisplay display = EGL_NO_DISPLAY;

  static const EglLibrary& get() {
    static const EglLibrary library;
    return library;
  }
  bool works() const { return display != EGL_NO_DISPLAY && createImage != nullptr && destroyImage != nullptr; }

 private:
  EglLibrary() {
    void* const file = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) return;
    using GetProcAddress = void (*(*)(const char*))();
    using GetDisplay = EGLDisplay (*)(EGLNativeDisplayType);
    using Initialize = EGLBoolean (*)(EGLDisplay, EGLint*, EGLint*);
    const auto getProcAddress = reinterpret_cast<GetProcAddress>(dlsym(file, "eglGetProcAddress"));
    const auto getDisplay = reinterpret_cast<GetDisplay>(dlsym(file, "eglGetDisplay"));
    const auto initialize = reinterpret_cast<Initialize>(dlsym(file, "eglInitialize"));
    if (getProcAddress == nullptr || getDisplay == nullptr || initialize == nullptr) return;
    createImage = reinterpret_cast<PFNEGLCREATEIMAGEKHRPROC>(getProcAddress("eglCreateImageKHR"));
    destroyImage = reinterpret_cast<PFNEGLDESTROYIMAGEKHRPROC>(getProcAddress("eglDestroyImageKHR"));
    const EGLDisplay opened = getDisplay(EGL_DEFAULT_DISPLAY);
    if (opened != EGL_NO_DISPLAY && initialize(opened, nullptr, nullptr) == EGL_TRUE) display = opened;
  }
};

class EglBuffer {
 public:
  EglBuffer() = default;
  ~EglBuffer() {
    if (resource_ != nullptr) cudaGraphicsUnregisterResource(resource_);
    if (image_ != EGL_NO_IMAGE_KHR) EglLibrary::get().destroyImage(EglLibrary::get().display, image_);
  }
  EglBuffer(const EglBuffer&) = delete;
  EglBuffer& operator=(const EglBuffer&) = delete;

  /// Imports the buffer as one plane of bytes; EGL does not keep the descriptor.
  Status open(int descriptor, size_t bytes, size_t rowBytes) {
    const EglLibrary& egl = EglLibrary::get();
    if (!egl.works() || rowBytes == 0 || bytes < rowBytes)
      return Status::error(Code::kFailed, "EGL cannot import a DMA buffer here.");
    const EGLint row = static_cast<EGLint>(rowBytes);
    const EGLint attributes[] = {EGL_WIDTH,
                                 row,
                                 EGL_HEIGHT,
                                 static_cast<EGLint>(bytes / rowBytes),
                                 EGL_LINUX_DRM_FOURCC_EXT,
                                 'R' | '8' << 8 | ' ' << 16 | ' ' << 24,
                                 EGL_DMA_BUF_PLANE0_FD_EXT,
                                 descriptor,
                                 EGL_DMA_BUF_PLANE0_OFFSET_EXT,
                                 0,
                                 EGL_DMA_BUF_PLANE0_PITCH_EXT,
                                 row,
                                 EGL_NONE};
    image_ = egl.createImage(egl.display, EGL_NO_CONTEXT, EGL_LINUX_DMA_BUF_EXT, nullptr, attributes);
    if (image_ == EGL_NO_IMAGE_KHR) return Status::error(Code::kFailed, "EGL refused a DMA buffer.");
    DEPTHWATT_CUDA(cudaGraphicsEGLRegisterImage(&resource_, image_, cudaGraphicsRegisterFlagsReadOnly));
    cudaEglFrame frame = {};
    DEPTHWATT_CUDA(cudaGraphicsResourceGetMappedEglFrame(&frame, resource_, 0, 0));
    // Kernels read rows by address: a tiled image is of no use.
    if (frame.frameType != cudaEglFrameTypePitch || frame.frame.pPitch[0].pitch != rowBytes)
      return Status::error(Code::kFailed, "EGL maps a DMA buffer with other rows.");
    onDevice_ = static_cast<const uint8_t*>(frame.frame.pPitch[0].ptr);
    return {};
  }

  const uint8_t* onDevice() const { return onDevice_; }

 private:
  EGLImageKHR image_ = EGL_NO_IMAGE_KHR;
  cudaGraphicsResource_t resource_ = nullptr;
  const uint8_t* onDevice_ = nullptr;
};

}  // namespace gpu
}  // namespace depthwatt
