// SPDX-License-Identifier: Apache-2.0
// Finds TurboJPEG's functions in the library and decodes with them.
#include "jpeg.h"

#include <dlfcn.h>

#include <type_traits>

namespace depthwatt::v4l2 {
namespace {

// TurboJPEG's documented interface, declared here so that no header is needed to build.
constexpr int kTurboGrey = 6;         // TJPF_GRAY
constexpr int kTurboWarning = 0;      // TJERR_WARNING
constexpr size_t kMostPadding = 4096;  // Zeros that cameras leave behind the image.

/// True where the end-of-image marker closes the data; padding zeros may follow it.
bool isComplete(const uint8_t* jpeg, size_t bytes) {
  size_t end = bytes;
  while (end > 2 && bytes - end < kMostPadding && jpeg[end - 1] == 0) --end;
  return end >= 2 && jpeg[end - 2] == 0xff && jpeg[end - 1] == 0xd9;
}

}  // namespace

struct JpegDecoder::Functions {
  void* (*initialise)();
  int (*header)(void*, const unsigned char*, unsigned long, int*, int*, int*, int*);
  int (*decompress)(void*, const unsigned char*, unsigned long, unsigned char*, int, int, int, int, int);
  int (*errorCode)(void*);
  int (*destroy)(void*);
};

Status JpegDecoder::open() {
  library_ = dlopen("libturbojpeg.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    return Status::error(Code::kDeviceUnsuitable,
                         "Reading MJPEG needs libturbojpeg.so.0, which does not load. Install the package "
                         "libturbojpeg0 (Debian) or libturbojpeg (Ubuntu), or choose another format.");
  }
  auto* functions = new Functions{};
  functions_ = functions;
  const auto find = [&](auto* function, const char* name) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library_, name));
    return *function != nullptr;
  };
  const bool complete = find(&functions->initialise, "tjInitDecompress") &&
                        find(&functions->header, "tjDecompressHeader3") &&
                        find(&functions->decompress, "tjDecompress2") &&
                        find(&functions->errorCode, "tjGetErrorCode") && find(&functions->destroy, "tjDestroy");
  if (complete) handle_ = functions->initialise();
  if (handle_ != nullptr) return {};
  return Status::error(Code::kDeviceUnsuitable,
                       "Reading MJPEG needs TurboJPEG 2.0 or newer; the libturbojpeg.so.0 that is there is older.");
}

JpegDecoder::~JpegDecoder() {
  if (handle_ != nullptr) functions_->destroy(handle_);
  delete functions_;
  if (library_ != nullptr) dlclose(library_);
}

JpegDecoder::Result JpegDecoder::decodeGrey(const uint8_t* jpeg, size_t bytes, int32_t width, int32_t height,
                                            uint8_t* grey) {
  int jpegWidth = 0, jpegHeight = 0, subsampling = 0, colourSpace = 0;
  if (functions_->header(handle_, jpeg, bytes, &jpegWidth, &jpegHeight, &subsampling, &colourSpace) < 0 &&
      functions_->errorCode(handle_) != kTurboWarning) {
    return Result::kBroken;
  }
  if (jpegWidth != width || jpegHeight != height) return Result::kBroken;
  if (functions_->decompress(handle_, jpeg, bytes, grey, width, width, height, kTurboGrey, 0) == 0) {
    return Result::kGood;
  }
  // A warning leaves a picture whose lower part may be grey filling: only a closed file is taken.
  const bool warned = functions_->errorCode(handle_) == kTurboWarning;
  return warned && isComplete(jpeg, bytes) ? Result::kRepaired : Result::kBroken;
}

}  // namespace depthwatt::v4l2
