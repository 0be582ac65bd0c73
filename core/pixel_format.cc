// SPDX-License-Identifier: Apache-2.0
// Names and sizes of pixel formats; see pixel_format.h.
#include "pixel_format.h"

#include <cstring>

namespace depthwatt {
namespace {

// clang-format off: one line a family
constexpr const char* kNames[] = {
    "GREY", "Y10", "Y12", "Y16", "Y8I_LEFT", "Y8I_RIGHT", "Y10P", "Y12P", "Y12I_LEFT", "Y12I_RIGHT",
    "GREY_DISPARITY", "YUYV", "UYVY", "NV12", "RGB8",
    "BAYER_RGGB8", "BAYER_GRBG8", "BAYER_GBRG8", "BAYER_BGGR8",
    "BAYER_RGGB10", "BAYER_GRBG10", "BAYER_GBRG10", "BAYER_BGGR10",
    "BAYER_RGGB12", "BAYER_GRBG12", "BAYER_GBRG12", "BAYER_BGGR12",
    "BAYER_RGGB16", "BAYER_GRBG16", "BAYER_GBRG16", "BAYER_BGGR16",
    "BAYER_RGGB10P", "BAYER_GRBG10P", "BAYER_GBRG10P", "BAYER_BGGR10P",
    "BAYER_RGGB12P", "BAYER_GRBG12P", "BAYER_GBRG12P", "BAYER_BGGR12P"};
// clang-format on

/// Returns the bytes of a row. Packed rows end with a whole group of samples.
size_t rowBytes(size_t width, PixelFormat format) {
  const size_t groups4 = (width + 3) / 4, groups2 = (width + 1) / 2;
  switch (format) {
    case PixelFormat::kY12iLeft:
    case PixelFormat::kY12iRight:
    case PixelFormat::kRgb8: return 3 * width;
    case PixelFormat::kY10:
    case PixelFormat::kY12:
    case PixelFormat::kY16:
    case PixelFormat::kY8iLeft:
    case PixelFormat::kY8iRight:
    case PixelFormat::kYuyv:
    case PixelFormat::kUyvy: return 2 * width;
    case PixelFormat::kY10P: return 5 * groups4;
    case PixelFormat::kY12P: return 3 * groups2;
    default: break;
  }
  if (format >= PixelFormat::kBayerRggb12P) return 3 * groups2;
  if (format >= PixelFormat::kBayerRggb10P) return 5 * groups4;
  return format >= PixelFormat::kBayerRggb10 ? 2 * width : width;
}

}  // namespace

size_t sourceBytes(int32_t width, int32_t height, size_t strideBytes, PixelFormat format, bool colours) {
  const size_t row = rowBytes(static_cast<size_t>(width), format);
  if (strideBytes < row) return 0;
  if (format == PixelFormat::kGreyDisparity) {
    const size_t bytes = 4 * row * static_cast<size_t>(height);
    return strideBytes == row && bytes <= kMaxSourceBytes ? bytes : 0;
  }
  const bool chroma = colours && format == PixelFormat::kNv12;
  const size_t lastRow = chroma ? (row + 1) / 2 * 2 : row;
  if (strideBytes < lastRow) return 0;
  const size_t rowsBefore = static_cast<size_t>(chroma ? height + (height + 1) / 2 - 1 : height - 1);
  // The vector code addresses a byte with a signed 32-bit offset.
  if (strideBytes > kMaxSourceBytes || rowsBefore * strideBytes + lastRow > kMaxSourceBytes) return 0;
  return rowsBefore * strideBytes + lastRow;
}

bool findPixelFormat(const char* name, PixelFormat* format) {
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    if (std::strcmp(kNames[i], name) != 0) continue;
    *format = static_cast<PixelFormat>(i);
    return true;
  }
  return false;
}

}  // namespace depthwatt
