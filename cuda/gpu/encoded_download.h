// SPDX-License-Identifier: Apache-2.0
// Copies an encoded image from the device. Its length is unknown when the copy is queued, so it copies an eighth more
// than the previous image needed, and the rest, if any, when the length is known.
#pragma once

#include <algorithm>

#include "../device/device_buffer.h"
#include "../output/rvl/rvl_gpu.h"

namespace depthwatt {
namespace gpu {

/// An encoded image on the device; empty if it is not requested.
struct EncodedImage {
  DeviceBuffer<uint32_t> words, bytes;

  Status open(size_t pixels) {
    DEPTHWATT_TRY(words.allocate(rvlWords(pixels)));
    return bytes.allocate(1);
  }
};

class EncodedDownload {
 public:
  Status open(size_t pixels) {
    bound_ = 4 * rvlWords(pixels);
    expected_ = std::min(bound_, pixels);
    return bytes_.allocate();
  }
  Status queue(const EncodedImage& image, uint8_t* to, cudaStream_t stream) {
    DEPTHWATT_TRY(
        cudaStatus(cudaMemcpyAsync(bytes_.get(), image.bytes.get(), sizeof(uint32_t), cudaMemcpyDeviceToHost, stream),
                   "copy of an encoded length"));
    return cudaStatus(cudaMemcpyAsync(to, image.words.get(), expected_, cudaMemcpyDeviceToHost, stream),
                      "copy of an encoded image");
  }
  /// Call it when the queued copies are done.
  Status finish(const EncodedImage& image, uint8_t* to, size_t* bytes, cudaStream_t stream) {
    *bytes = *bytes_.get();
    if (*bytes > expected_) {
      const uint8_t* const from = reinterpret_cast<const uint8_t*>(image.words.get());
      DEPTHWATT_TRY(cudaStatus(
          cudaMemcpyAsync(to + expected_, from + expected_, *bytes - expected_, cudaMemcpyDeviceToHost, stream),
          "copy of the rest of an encoded image"));
      DEPTHWATT_TRY(cudaStatus(cudaStreamSynchronize(stream), "copy of the rest of an encoded image"));
    }
    expected_ = std::min(bound_, *bytes + *bytes / 8);
    return {};
  }

 private:
  HostValue<uint32_t> bytes_;
  size_t expected_ = 0, bound_ = 0;
};

}  // namespace gpu
}  // namespace depthwatt
