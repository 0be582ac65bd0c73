// SPDX-License-Identifier: Apache-2.0
// Limits the confidence where a pair has no unique match: where the left image repeats along the row, and where changes
// in the left image are missing in the right one, so that they are noise. Works in blocks of 8 columns and 4 rows; one
// row represents a block's rows, y(k) = min(4 k + 2, height - 1).
//   unlike(b, k, s)  sum over the 8 columns x of block b of min(16, |I(x, y(k)) - I(x - s, y(k))|), I the left image; 128 where
//                    8 b < s; 0 to 128
//   U(b, k, s)       their sum over 3 x 3 blocks, 0 to 1152; M(s): the largest of U(1) to U(s)
//   repeats(b, k)    255 (10 U(s) - 2 M(s - 1)) / M(s - 1), the least over s = 4..32 where M(s - 1) > 0: 255 if the shifted image
//                    stays 3/10 as unlike as before, falling to 1 if it comes back to 1/5
//   samples          x = 8 b, 8 b + 2, 8 b + 4, 8 b + 6 of row y(k), inside the image. r(x) = x - floor((disparityQ4 + 8) / 16), clamped into the
//                    image; l, r: changes I(x) - I(x - 1) of the left image at x and of the right one at r(x), clamped to -16..16, 0 in
//                    column 0; r is 0 where the disparity is invalid
//   n, S, A, E       over 7 x 13 blocks (columns x rows) inside the image: how many samples, and the sums of l r, of l l, and of l l + r r
//   window(b, k)     the larger of 255 (24 S - E) / E and 255 (A - 5 n) / n; 255 where E is 0. Of changes that are noise S is about 0;
//                    noise of more than sigma 1.6 is not detected
//   signal(b, k)     the least window(c, j) of the 5 x 11 blocks around, so that blocks in a window of noise are limited up to its edge
//   limit            the smaller of both, divisions rounded towards 0, clamped to 1..255
// in   left, right [height][width] uint8; disparityQ4 [height][width] int16, 1/16 px, or kInvalidDisparity
// out  limit [(height + 3) / 4][(width + 7) / 8] uint8: the largest confidence allowed
// edge the image's last column is replicated, a block outside the image is the nearest one.   same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"
#include "../../blocks.h"

namespace depthwatt {

constexpr int32_t kLargestUnlike = 16;
constexpr int32_t kFirstRepeat = 4, kLastRepeat = 32;   ///< shifts
constexpr int32_t kWindowColumns = 3, kWindowRows = 6;  ///< radii, blocks
constexpr int32_t kSpreadColumns = 2, kSpreadRows = 5;
constexpr int32_t kSampleStep = 2;

struct AmbiguityImages {
  ImageView<const uint8_t> left, right;
  ImageView<const int16_t> disparityQ4;
};

void ambiguityReference(const AmbiguityImages& images, ImageView<uint8_t> limit);

/// Computes rows [firstRow, endRow) of the result, which are rows of blocks; reads the rows around them.
using AmbiguityRows = void (*)(const AmbiguityImages& images, ImageView<uint8_t> limit, int32_t firstRow,
                               int32_t endRow);
struct AmbiguityKernels {
  AmbiguityRows ambiguity;
};

}  // namespace depthwatt
