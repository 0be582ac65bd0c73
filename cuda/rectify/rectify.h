// SPDX-License-Identifier: Apache-2.0
// Rectification fused with conversion to grey: reads the camera's bytes once and writes the rectified grey image.
//   out(x, y) = floor((sum_{i,j in 0..1} w_i(fx) w_j(fy) grey(x0 + i, y0 + j) + 512) / 1024),  w_0(f) = 32 - f, w_1(f) = f,
//   (32 x0 + fx, 32 y0 + fy) = map(x, y), 0 <= fx, fy < 32;      no map: out(x, y) = grey(x, y)
//   then the black level is subtracted: out(x, y) = max(0, out(x, y) - blackLevel), each colour alike
// in   source: one camera image of any PixelFormat; map [height][width][2] int32, source x then y, 1/32 px, -2^30 to 2^30
// out  [height][width] uint8
// edge border pixels are replicated (of the grey image; the mosaic under it is mirrored).
// same bits on every backend: integer only; README.md has each format's grey.
#pragma once

#include "../../core/image.h"
#include "../../core/pixel_format.h"

namespace depthwatt {

struct RectifySource {
  const uint8_t* data = nullptr;
  int32_t width = 0;   ///< pixels
  int32_t height = 0;  ///< pixels
  size_t strideBytes = 0;
  PixelFormat format = PixelFormat::kGrey;
  int32_t blackLevel = 0;  ///< 0 to 255
};

/// The definition. map = nullptr: only converts, and out must have the source's size.
void rectifyReference(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out);

/// The fast form. Computes rows [firstRow, endRow) of out. The source must hold sourceBytes(); no other byte is read.
using RectifyRows = void (*)(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out, int32_t firstRow,
                             int32_t endRow);

/// The same in colours, for formats that have them (hasColours): each colour separately, by the same places and
/// weights. NV12 also reads the chroma: the source must hold sourceBytes() with colours.
void rectifyRgbReference(const RectifySource& source, const int32_t* map, ImageView<Rgb8> out);
/// The fast form. Also computes the grey of RectifyRows for the same rows, unless grey is empty (data = nullptr), so
/// that places are found and pixels read once for both.
using RectifyRgbRows = void (*)(const RectifySource& source, const int32_t* map, ImageView<Rgb8> out,
                                ImageView<uint8_t> grey, int32_t firstRow, int32_t endRow);
struct RectifyKernels {
  RectifyRows rectify;
  RectifyRgbRows rectifyRgb;
};

}  // namespace depthwatt
