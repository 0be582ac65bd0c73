// SPDX-License-Identifier: Apache-2.0
// How the bytes of a camera's image are laid out; pixel-format.ts says what each name means.
#pragma once

#include <cstddef>
#include <cstdint>

namespace depthwatt {

/// In the order of PixelFormat in core/pixel-format.ts: first those without colours.
// clang-format off: one line a family
enum class PixelFormat : int32_t {
  kGrey, kY10, kY12, kY16, kYuyv, kUyvy, kNv12, kRgb8,
  // Four orders of the mosaic for each depth, always in this sequence.
  kBayerRggb8, kBayerGrbg8, kBayerGbrg8, kBayerBggr8,
  kBayerRggb10, kBayerGrbg10, kBayerGbrg10, kBayerBggr10,
  kBayerRggb12, kBayerGrbg12, kBayerGbrg12, kBayerBggr12,
  kBayerRggb16, kBayerGrbg16, kBayerGbrg16, kBayerBggr16,
};
// clang-format on

constexpr size_t kMaxSourceBytes = (size_t{1} << 31) - 1;

/// Bytes that are read of an image of this size and format; 0 where the size or the stride is impossible, or the image larger
/// than kMaxSourceBytes. colours: they are read too, which matters to NV12 alone, whose chroma lies behind its luma: rows of
/// the same stride, half as many, rounded up, each with a byte of U and of V for two columns.
size_t sourceBytes(int32_t width, int32_t height, size_t strideBytes, PixelFormat format, bool colours = false);

/// Whether the engine can read colours from it: else they are its grey three times.
inline bool hasColours(PixelFormat format) { return format >= PixelFormat::kYuyv; }

/// The format that pixel-format.ts names so ("GREY", "YUYV", ...); false where there is none.
bool pixelFormatOf(const char* name, PixelFormat* format);

}  // namespace depthwatt
