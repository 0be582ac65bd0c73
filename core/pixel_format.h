// SPDX-License-Identifier: Apache-2.0
// The memory layouts of camera images. core/pixel-format.ts describes each name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace depthwatt {

/// In the order of PixelFormat in core/pixel-format.ts: formats without colours first.
// clang-format off: one line a family
enum class PixelFormat : int32_t {
  kGrey, kY10, kY12, kY16, kY8iLeft, kY8iRight, kY10P, kY12P, kY12iLeft, kY12iRight, kGreyDisparity, kYuyv, kUyvy, kNv12, kRgb8,
  // Four orders of the mosaic for each depth, always in this sequence.
  kBayerRggb8, kBayerGrbg8, kBayerGbrg8, kBayerBggr8,
  kBayerRggb10, kBayerGrbg10, kBayerGbrg10, kBayerBggr10,
  kBayerRggb12, kBayerGrbg12, kBayerGbrg12, kBayerBggr12,
  kBayerRggb16, kBayerGrbg16, kBayerGbrg16, kBayerBggr16,
  kBayerRggb10P, kBayerGrbg10P, kBayerGbrg10P, kBayerBggr10P,
  kBayerRggb12P, kBayerGrbg12P, kBayerGbrg12P, kBayerBggr12P,
};
// clang-format on

constexpr size_t kMaxSourceBytes = (size_t{1} << 31) - 1;

/// Returns the number of bytes that are read of an image of 1 or more pixels a side. Returns 0 if the stride is
/// impossible, or if the image is larger than kMaxSourceBytes. `colours` matters only for NV12, whose chroma follows its
/// luma: half as many rows, rounded up, of the same stride, with one byte of U and V for two columns. kGreyDisparity has
/// contiguous rows.
size_t sourceBytes(int32_t width, int32_t height, size_t strideBytes, PixelFormat format, bool colours = false);

/// Returns whether the engine can read colours from it. Otherwise red = green = blue = grey.
inline bool hasColours(PixelFormat format) { return format >= PixelFormat::kYuyv; }

/// Finds the format named `name` ("GREY", "YUYV", ...). Returns false if there is none.
bool findPixelFormat(const char* name, PixelFormat* format);

}  // namespace depthwatt
