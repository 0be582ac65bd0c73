// SPDX-License-Identifier: Apache-2.0
// Doubles a disparity map: bilateral along x, linear along y.                      (Chang and Maruyama, sections III.E and IV.H)
//   F(2x, y)     = 2 D(x, y)                                      D: the half map, F: its rows at full width, full pixels
//   F(2x + 1, y) = l + r where |l - r| <= thresholdQ4, l = D(x, y), r = D(x + 1, y): twice their mean; else
//                  2 l where |I(2x, 2y) - I(2x + 1, 2y)| <= |I(2x + 2, 2y) - I(2x + 1, 2y)|, else 2 r
//   out(x, 2y)     = F(x, y)
//   out(x, 2y + 1) = floor((F(x, y) + F(x, y + 1) + 1) / 2)
//   where one of two values is invalid or outside the half map, the other is used.
// in   grey [height][width] uint8; half [ceil(height / 2)][ceil(width / 2)] int16 disparityQ4 of half pixels, 0 to 16383
// out  result [height][width] int16 disparityQ4       ties: as written.       same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

/// The largest step that interpolation bridges: the paper's T = 3 pixels of the half map.
constexpr int32_t kUpscaleThresholdQ4 = 48;

void upscaleReference(int32_t thresholdQ4, ImageView<const uint8_t> grey, ImageView<const int16_t> half,
                      ImageView<int16_t> result);

/// Computes rows [firstRow, endRow) of the result.
using UpscaleRows = void (*)(int32_t thresholdQ4, ImageView<const uint8_t> grey, ImageView<const int16_t> half,
                             ImageView<int16_t> result, int32_t firstRow, int32_t endRow);
struct UpscaleKernels {
  UpscaleRows upscale;
};

/// Computes rows [firstRow, endRow) of the full map's confidence: each pixel takes its half pixel's.
inline void upscaleConfidence(ImageView<const uint8_t> half, ImageView<uint8_t> result, int32_t firstRow,
                              int32_t endRow) {
  for (int32_t y = firstRow; y < endRow; ++y) {
    const uint8_t* from = half.row(y / 2);
    uint8_t* to = result.row(y);
    for (int32_t x = 0; x < result.width; ++x) to[x] = from[x / 2];
  }
}

}  // namespace depthwatt
