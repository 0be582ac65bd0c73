// SPDX-License-Identifier: Apache-2.0
// One JPEG image of a camera into grey pixels, by libturbojpeg where it is installed: looked for at run time only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../core/status.h"

namespace depthwatt::v4l2 {

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

  /// The luma of `jpeg` into width x height bytes, rows touching. One decode, no colour conversion; Motion JPEG without
  /// Huffman tables is read with the standard ones.
  Result decodeGrey(const uint8_t* jpeg, size_t bytes, int32_t width, int32_t height, uint8_t* grey);

 private:
  void* library_ = nullptr;
  void* handle_ = nullptr;
  struct Functions;
  Functions* functions_ = nullptr;
};

}  // namespace depthwatt::v4l2
