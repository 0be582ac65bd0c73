// SPDX-License-Identifier: Apache-2.0
// Local planes: each disparity becomes the value of a plane through similar pixels around it.
//   taps    (x + 3 i, y + 3 j), i, j = -2..2, inside the image, valid, with |I - I(x, y)| <= kSlantGrey and
//           |delta| <= kSlantStepQ4, where delta = D - D(x, y); n of them, the pixel itself among them
//   sums    Sx = sum i, Sy = sum j, Sxx = sum i^2, Sxy = sum i j, Syy = sum j^2, Sd = sum delta, Sdx = sum i delta,
//           Sdy = sum j delta
//   A = 8 (n Sxx - Sx^2) + n^2,  C = 8 (n Syy - Sy^2) + n^2,  B = 8 (n Sxy - Sx Sy)
//   P = 8 (n Sdx - Sx Sd),  Q = 8 (n Sdy - Sy Sd)
//   det = A C - B B,  v = (Sd det - (Sx (P C - Q B) + Sy (Q A - P B))) / (n det)
//   out     D(x, y) + min(max(floor(v + 1/2), smallest delta), largest delta); an invalid centre stays invalid
// v is the value at the pixel of the plane with the smallest squared error, with its slopes drawn towards 0 by n^2 in A and C, so
// that few taps, or taps on a line, give a plane too. Up to P and Q all numbers are integers below 2^24. From det on they are float32,
// rounded after every operation, in the order that the brackets show. No result lies outside the disparities of its taps.
// in   grey [height][width] uint8, disparityQ4 [height][width] int16
// out  result [height][width] int16, another image
// edge taps outside the image do not count.   ties: none.   same bits on every backend.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kSlantTaps = 2;     ///< on either side
constexpr int32_t kSlantSpacing = 3;  ///< pixels between taps
constexpr int32_t kSlantReach = kSlantTaps * kSlantSpacing;
constexpr int32_t kSlantGrey = 12;
constexpr int32_t kSlantStepQ4 = 20;

void slantReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4, ImageView<int16_t> result);

/// Computes rows [firstRow, endRow) of the result; reads the rows around them.
using SlantRows = void (*)(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                           ImageView<int16_t> result, int32_t firstRow, int32_t endRow);
struct SlantKernels {
  SlantRows slant;
};

}  // namespace depthwatt
