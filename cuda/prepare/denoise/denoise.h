// SPDX-License-Identifier: Apache-2.0
// Estimates the noise of an image, and filters a noisy pair before matching.
//   n(x, y)  second difference along x of the second difference along y: the 3 x 3 mask 1 -2 1, -2 4 -2, 1 -2 1    (Immerkaer 1996)
//   noise    white noise of sigma makes n normal with 6 sigma, whose 25th percentile of |n| is 0.3186 x 6 sigma. Edges and texture
//            raise the upper part, so the lower quarter is a better estimate than the mean. Of the |n| of rows 1, 5, 9, ... and
//            columns 1 to width - 2 of all given images, counted in bins b of |n| = b: q the percentile, with a bin spread over
//            b - 1/2 to b + 1/2: with total T, t = ceil(T / 4), B = count below bin b, C = count in it, B < t <= B + C:
//            q256 = 256 b - 128 + floor(256 (t - B) / C), at least 0;   sigmaQ8 = floor(q256 134 / 256)
//   smooth   g = floor((sum of [1 2 1] x [1 2 1] around the pixel + 8) / 16), border replicated
//   bilateral  over the 7 x 7 pixels q around p, border replicated, w = max(0, range - |g(q) - g(p)|):
//            out = floor((2 sum of w image(q) + sum of w) / (2 sum of w))         (joint bilateral filter, g its guide)
// same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kNoiseRowStep = 4;
constexpr int32_t kNoiseBins = 8 * 255 + 1;

constexpr int32_t kBilateralRadius = 3;
/// The largest range, in grey values: a row of seven weighted pixels then fits 16 bits.
constexpr int32_t kMaxSmoothRange = 36;

/// Counts of |n|; several images may be added.
struct NoiseCounts {
  uint32_t bins[kNoiseBins] = {};
};

/// The definitions.
void countNoiseReference(ImageView<const uint8_t> image, NoiseCounts& counts);
/// Returns sigma in grey values x 256; 0 if nothing was counted (an image of fewer than three rows or columns).
int32_t noiseSigmaQ8Reference(const NoiseCounts& counts);
void smoothReference(ImageView<const uint8_t> in, ImageView<uint8_t> out);
/// @param range 1 to kMaxSmoothRange. @param guide of the image's size. `out` must not overlap either.
void bilateralReference(ImageView<const uint8_t> image, ImageView<const uint8_t> guide, int32_t range,
                        ImageView<uint8_t> out);

/// Fast forms. Smoothing and filter compute rows [firstRow, endRow) of the result.
using CountNoise = void (*)(ImageView<const uint8_t> image, NoiseCounts& counts);
using SmoothRows = void (*)(ImageView<const uint8_t> in, ImageView<uint8_t> out, int32_t firstRow, int32_t endRow);
using BilateralRows = void (*)(ImageView<const uint8_t> image, ImageView<const uint8_t> guide, int32_t range,
                               ImageView<uint8_t> out, int32_t firstRow, int32_t endRow);
struct DenoiseKernels {
  CountNoise countNoise;
  SmoothRows smooth;
  BilateralRows bilateral;
};
int32_t noiseSigmaQ8(const NoiseCounts& counts);

}  // namespace depthwatt
