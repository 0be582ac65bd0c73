// SPDX-License-Identifier: Apache-2.0
// Loads TurboJPEG's functions from the library and decodes with them.
#include "jpeg.h"

#include <dlfcn.h>

#include <cstring>
#include <type_traits>

namespace v4l2camera {
namespace {

// TurboJPEG's documented interface, declared here so that the build needs no header.
constexpr int kTurboRgb = 0;      // TJPF_RGB
constexpr int kTurboGrey = 6;     // TJPF_GRAY
constexpr int kTurboWarning = 0;  // TJERR_WARNING

// Markers of ITU T.81, table B.1, without their 0xff.
constexpr uint8_t kBaselineFrame = 0xc0, kExtendedFrame = 0xc1;
constexpr uint8_t kRestart0 = 0xd0, kRestart7 = 0xd7;
constexpr uint8_t kStartOfImage = 0xd8, kEndOfImage = 0xd9, kStartOfScan = 0xda;

/// Returns the marker at or after `at` that is neither stuffing nor a restart; `bytes` if there is none.
size_t nextMarker(const uint8_t* jpeg, size_t bytes, size_t at) {
  while (at + 1 < bytes) {
    const auto* found = static_cast<const uint8_t*>(std::memchr(jpeg + at, 0xff, bytes - at - 1));
    if (found == nullptr) break;
    const uint8_t code = found[1];
    at = static_cast<size_t>(found - jpeg);
    if (code != 0 && code != 0xff && (code < kRestart0 || code > kRestart7)) return at;
    ++at;
  }
  return bytes;
}

/// The contents of the segments before the pixels.
struct Layout {
  int32_t width = 0;
  int32_t height = 0;
  /// An end-of-image marker closes the pixels; what follows it is padding.
  bool closed = false;
};

/// Reads the segments up to the scan. Returns false for anything but a baseline JPEG that can be decoded.
bool readLayout(const uint8_t* jpeg, size_t bytes, Layout* layout) {
  if (bytes < 4 || jpeg[0] != 0xff || jpeg[1] != kStartOfImage) return false;
  size_t at = 2;
  while (at + 4 <= bytes && jpeg[at] == 0xff) {
    const uint8_t marker = jpeg[at + 1];
    if (marker == 0xff) {  // Any number of fill bytes may stand before a marker.
      ++at;
      continue;
    }
    const size_t length = static_cast<size_t>(jpeg[at + 2]) << 8 | jpeg[at + 3];
    const size_t end = at + 2 + length;
    if (length < 2 || end > bytes) return false;
    if (marker == kBaselineFrame || marker == kExtendedFrame) {
      if (length < 8) return false;
      layout->height = jpeg[at + 5] << 8 | jpeg[at + 6];
      layout->width = jpeg[at + 7] << 8 | jpeg[at + 8];
    } else if (marker == kStartOfScan) {
      const size_t close = nextMarker(jpeg, bytes, end);
      layout->closed = close < bytes && jpeg[close + 1] == kEndOfImage;
      return layout->width > 0;
    }
    at = end;
  }
  return false;
}

/// Returns whether a warning of libjpeg means lost pixels. TurboJPEG reports only a warning's text, unchanged since
/// libjpeg 6. Stray bytes before a marker are common with webcams and lose nothing.
bool meansLoss(const char* warning) {
  if (std::strstr(warning, "extraneous bytes") != nullptr) return false;
  return std::strstr(warning, "Corrupt JPEG data") != nullptr || std::strstr(warning, "Premature end") != nullptr;
}

}  // namespace

struct JpegDecoder::Functions {
  void* (*initialise)();
  int (*decompress)(void*, const unsigned char*, unsigned long, unsigned char*, int, int, int, int, int);
  int (*errorCode)(void*);
  char* (*errorText)(void*);
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
                        find(&functions->decompress, "tjDecompress2") &&
                        find(&functions->errorCode, "tjGetErrorCode") &&
                        find(&functions->errorText, "tjGetErrorStr2") && find(&functions->destroy, "tjDestroy");
  if (complete) handle_ = functions->initialise();
  if (handle_ != nullptr) return {};
  return Status::error(Code::kDeviceUnsuitable,
                       "Reading MJPEG needs TurboJPEG 2.0 or newer; the installed libturbojpeg.so.0 is older.");
}

JpegDecoder::~JpegDecoder() {
  if (handle_ != nullptr) functions_->destroy(handle_);
  delete functions_;
  if (library_ != nullptr) dlclose(library_);
}

JpegDecoder::Result JpegDecoder::decode(const uint8_t* jpeg, size_t bytes, int32_t width, int32_t height, bool colours,
                                        uint8_t* pixels) {
  // Parsed here because tjDecompressHeader3 rejects chroma layouts that the decoder can read.
  Layout layout;
  if (!readLayout(jpeg, bytes, &layout) || layout.width != width || layout.height != height) return Result::kBroken;
  // An interrupted camera leaves the lower part undefined, which libjpeg fills with grey, so an image must have its end
  // marker.
  if (!layout.closed) return Result::kBroken;
  const int pitch = colours ? 3 * width : width, format = colours ? kTurboRgb : kTurboGrey;
  if (functions_->decompress(handle_, jpeg, bytes, pixels, width, pitch, height, format, 0) == 0) {
    return Result::kGood;
  }
  const bool warned = functions_->errorCode(handle_) == kTurboWarning;
  return warned && !meansLoss(functions_->errorText(handle_)) ? Result::kRepaired : Result::kBroken;
}

}  // namespace v4l2camera
