// SPDX-License-Identifier: Apache-2.0
// Decodes a camera's JPEG into grey or colours with libturbojpeg, which is loaded at run time only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "status.h"

namespace v4l2camera {

class JpegDecoder {
 public:
  JpegDecoder() = default;
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  /// Returns kDeviceUnsuitable, with the package's name, if libturbojpeg.so.0 is missing.
  Status open();

  enum class Result {
    kGood,
    kRepaired,  ///< the decoder warned, and the image is complete: common with webcams
    kBroken,    ///< not a JPEG of this size, or cut short
  };

  /// Decodes the luma of `jpeg` into width x height bytes, or its colours into three times as many, red first, with
  /// contiguous rows. Luma needs no conversion; colours are JFIF's (BT.601, full range) in libjpeg's integers, with
  /// interpolated chroma. Motion JPEG without Huffman tables is read with the standard ones.
  Result decode(const uint8_t* jpeg, size_t bytes, int32_t width, int32_t height, bool colours, uint8_t* pixels);

 private:
  void* library_ = nullptr;
  void* handle_ = nullptr;
  struct Functions;
  Functions* functions_ = nullptr;
};

}  // namespace v4l2camera
