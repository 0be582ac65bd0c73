// SPDX-License-Identifier: Apache-2.0
// RVL on CUDA: the bytes of rvl.h, from an image in device memory into device memory.
#pragma once

#include <cstdint>

#include "../../device/check.h"
#include "../../device/device_buffer.h"

namespace depthwatt {
namespace gpu {

/// What an encoding needs in between; one serves all images of one size that are encoded one after the other.
struct RvlScratch {
  DeviceBuffer<int32_t> lastValue, firstZero;  ///< of each block: a pixel's number, or none
  DeviceBuffer<uint32_t> nibbles;

  Status open(size_t pixels);
  size_t bytes() const { return lastValue.bytes() + firstZero.bytes() + nibbles.bytes(); }
};

/// Words that `out` of rvl() holds: the code of so many pixels and what is cleared behind it.
size_t rvlWords(size_t pixels);

/// in: packed, at a multiple of 8 bytes; uint16 millimetres, or int16 disparityQ4 as in rvl.h. pixels: 1 to 2^28.
/// out: rvlWords(pixels) words; outBytes: one word, the number of bytes.
Status rvl(const void* in, bool disparity, size_t pixels, const RvlScratch& scratch, uint32_t* out, uint32_t* outBytes,
           cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
