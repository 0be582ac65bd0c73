// SPDX-License-Identifier: Apache-2.0
// RVL on CUDA: the bytes of rvl.h, from and to device memory.
#pragma once

#include <cstdint>

#include "../../device/check.h"
#include "../../device/device_buffer.h"

namespace depthwatt {
namespace gpu {

/// Intermediate results of an encoding. One serves all images of one size that are encoded in turn.
struct RvlScratch {
  DeviceBuffer<int32_t> lastValue, firstZero;  ///< per block: a pixel's number, or none
  DeviceBuffer<uint32_t> nibbles;

  Status open(size_t pixels);
  size_t bytes() const { return lastValue.bytes() + firstZero.bytes() + nibbles.bytes(); }
};

/// Returns the words of rvl()'s `out`: the code of this many pixels and the cleared words after it.
size_t rvlWords(size_t pixels);

/// @param in packed, at a multiple of 8 bytes; uint16 millimetres, or int16 disparityQ4 as in rvl.h. @param pixels 1 to
/// 2^28. @param out rvlWords(pixels) words. @param outBytes one word, the number of bytes
Status rvl(const void* in, bool disparity, size_t pixels, const RvlScratch& scratch, uint32_t* out, uint32_t* outBytes,
           cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
