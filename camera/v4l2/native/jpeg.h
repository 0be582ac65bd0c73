// SPDX-License-Identifier: Apache-2.0
// One JPEG image of a camera into grey pixels or colours, by libturbojpeg where it is installed: looked for at run time only.
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

  /// kDeviceUnsuitable where libturbojpeg.so.0 is not there, with the package that holds it.
  Status open();

  enum class Result {
    kGood,
    kRepaired,  ///< the decoder warned, and the image is complete: common with webcams
    kBroken,    ///< not a JPEG of this size, or cut short
  };

  /// The luma of `jpeg` into width x height bytes, or its colours into three times as many, red first; rows touching. Luma
  /// needs no conversion; colours are JFIF's (BT.601, luma and chroma of full range) in libjpeg's integers, chroma
  /// interpolated. Motion JPEG without Huffman tables is read with the standard ones.
  Result decode(const uint8_t* jpeg, size_t bytes, int32_t width, int32_t height, bool colours, uint8_t* pixels);

 private:
  void* library_ = nullptr;
  void* handle_ = nullptr;
  struct Functions;
  Functions* functions_ = nullptr;
};

}  // namespace v4l2camera
