// SPDX-License-Identifier: Apache-2.0
// How sure a matched disparity is: from what the matcher says of it and of the pixels that agree with it.
//   support(x, y)  sum over the 5 x 5 pixels q around (x, y) of certainty(q) where |d(q) - d(x, y)| <= 16 (one pixel); 0..6375
//   texture(x, y)  sum over the 7 x 3 pixels q around of min(8, |I(q) - I(q left of it)|); 0..168
//   sure           k = support >> 8, r = support & 255: knot[k] + ((knot[k + 1] - knot[k]) r >> 8), but at most 16 texture,
//                  and at least 1; 0 where d(x, y) is invalid
// in   grey [height][width] uint8; disparityQ4 [height][width] int16, 1/16 px, at most 32736 or kInvalidDisparity; certainty
//      [height][width] uint8, what the matcher said
// out  sure [height][width] uint8, another image than certainty: 255 times the share of pixels that are within one pixel of the truth
// edge border pixels replicated.   invalid: q that is invalid agrees with nobody.   same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kSupportRadius = 2;
constexpr int32_t kAgreementQ4 = 16;
constexpr int32_t kTextureRadiusX = 3;
constexpr int32_t kTextureRadiusY = 1;
constexpr int32_t kTextureMax = 8;
constexpr int32_t kSurePerTexture = 16;
/// Every 256 of support: 255 times the share of pixels within one pixel of the truth, as measured (docs/2-concepts/accuracy.md); 0 of no
/// support, which two pixels in a thousand come near.
#define DEPTHWATT_CONFIDENCE_KNOTS                                  \
  {0,   150, 160, 174, 181, 188, 195, 201, 206, 211, 214, 217, 221, \
   225, 226, 230, 233, 237, 242, 247, 249, 251, 253, 254, 255, 255}
constexpr int32_t kConfidenceKnots = 26;

void confidenceReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                         ImageView<const uint8_t> certainty, ImageView<uint8_t> sure);

/// Rows [firstRow, endRow) of the result; reads the rows around them.
using ConfidenceRows = void (*)(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                                ImageView<const uint8_t> certainty, ImageView<uint8_t> sure, int32_t firstRow,
                                int32_t endRow);

}  // namespace depthwatt
