// SPDX-License-Identifier: Apache-2.0
// The launchers of the rooms' kernels: the rooms' own signatures with device pointers (packed rows) and a stream.
#pragma once

#include <cuda_runtime.h>

#include "../rectify/rectify.h"
#include "../engine/backend.h"
#include "../output/depth/depth.h"
#include "../match/cost/census/census.h"
#include "../prepare/denoise/denoise.h"
#include "../refine/ambiguity/ambiguity.h"
#include "../refine/fill/fill.h"
#include "../refine/speckle/speckle.h"
#include "../refine/window_confidence/window_confidence.h"
#include "../device/check.h"

namespace depthwatt {
namespace gpu {

Status rectify(const RectifySource& source, const int32_t* map, uint8_t* out, int32_t width, int32_t height,
               cudaStream_t stream);

/// In colours, for formats that have them.
Status rectifyRgb(const RectifySource& source, const int32_t* map, Rgb8* out, int32_t width, int32_t height,
                  cudaStream_t stream);
/// red = green = blue = grey.
Status greyAsRgb(const uint8_t* grey, Rgb8* out, int32_t width, int32_t height, cudaStream_t stream);

/// Both images of a pair in one launch.
Status census(const uint8_t* left, const uint8_t* right, uint32_t* leftOut, uint32_t* rightOut, int32_t width,
              int32_t height, cudaStream_t stream);

/// Both images of a pair in one launch.
Status twoGradientCensus(const uint8_t* left, const uint8_t* right, uint32_t* leftOut, uint32_t* rightOut,
                         int32_t width, int32_t height, cudaStream_t stream);

/// Both words of both images of a pair in one launch.
Status wideCensus(const uint8_t* left, const uint8_t* right, uint32_t* leftFirst, uint32_t* leftSecond,
                  uint32_t* rightFirst, uint32_t* rightSecond, int32_t width, int32_t height, cudaStream_t stream);

Status gradientCensus(const uint8_t* image, uint32_t* out, int32_t width, int32_t height, cudaStream_t stream);

/// Both images of a pair in one launch: the filter of denoise.h, guided by the smoothed image. range: one int32 in device memory; at 0
/// the images are copied unchanged.
Status smooth(const int32_t* range, const uint8_t* left, const uint8_t* right, uint8_t* leftOut, uint8_t* rightOut,
              int32_t width, int32_t height, cudaStream_t stream);

/// Both images of a pair in one launch; out: half the size, rounded up.
Status half(const uint8_t* left, const uint8_t* right, uint8_t* leftOut, uint8_t* rightOut, int32_t inWidth,
            int32_t inHeight, cudaStream_t stream);

/// Columns in reverse order; images of packed rows.
Status mirrorColumns(const uint8_t* from, uint8_t* to, int32_t width, int32_t height, cudaStream_t stream);
Status mirrorColumns(const Rgb8* from, Rgb8* to, int32_t width, int32_t height, cudaStream_t stream);
Status mirrorColumns(const int16_t* from, int16_t* to, int32_t width, int32_t height, cudaStream_t stream);

Status halfRgb(const Rgb8* in, Rgb8* out, int32_t inWidth, int32_t inHeight, cudaStream_t stream);

/// disparity, rightDisparity: whole pixels. Where both images agree exactly (Chang and Maruyama, eq. 10): 16 disparity and 255; elsewhere
/// kInvalidDisparity and 0.
Status groundControlPoints(const int16_t* disparity, const int16_t* rightDisparity, int16_t* disparityQ4,
                           uint8_t* confidence, int32_t width, int32_t height, cudaStream_t stream);

/// refine/left_right in place; disparity, rightDisparity: whole pixels.
Status leftRight(const int16_t* disparity, const int16_t* rightDisparity, int16_t* disparityQ4, uint8_t* confidence,
                 int32_t tolerance, int32_t width, int32_t height, cudaStream_t stream);

Status median(const int16_t* in, int16_t* out, int32_t width, int32_t height, cudaStream_t stream);

/// scratch: 2 width height words.
Status speckle(const SpeckleParameters& parameters, int16_t* disparityQ4, uint8_t* confidence, int32_t* scratch,
               int32_t width, int32_t height, cudaStream_t stream);

/// method must not be off. out: another image than in; scratch: (width + 1) height words.
Status fill(const FillParameters& parameters, const uint8_t* grey, const int16_t* in, int16_t* out, uint8_t* confidence,
            int32_t* scratch, int32_t width, int32_t height, cudaStream_t stream);

/// limit: [blockRowsOf(height)][blockColumnsOf(width)]; sums: scratch, as many words.
Status ambiguity(const uint8_t* left, const uint8_t* right, const int16_t* disparityQ4, uint64_t* sums, uint8_t* limit,
                 int32_t width, int32_t height, cudaStream_t stream);

/// sure: another image than certainty; limit: ambiguity's, or null.
Status confidence(const uint8_t* grey, const int16_t* disparityQ4, const uint8_t* certainty, bool zeroIsEstimated,
                  const uint8_t* limit, uint8_t* sure, int32_t width, int32_t height, cudaStream_t stream);

/// A measure of refine/window_confidence. sure: another image than certainty.
Status windowConfidence(ConfidenceMeasure measure, const uint8_t* left, const uint8_t* right,
                        const int16_t* disparityQ4, const uint8_t* certainty, bool zeroIsEstimated, uint8_t* sure,
                        int32_t width, int32_t height, cudaStream_t stream);

/// refine/repair, from the first two images to the other two; the first two are worked in.
Status repair(int16_t* disparityQ4, uint8_t* sure, int16_t* repairedQ4, uint8_t* repairedSure, int32_t width,
              int32_t height, cudaStream_t stream);

Status boundary(const uint8_t* grey, const int16_t* disparityQ4, int16_t* result, int32_t width, int32_t height,
                cudaStream_t stream);

/// grey, result and confidence: of full size; half and halfConfidence: of half the size, rounded up.
Status upscale(int32_t thresholdQ4, const uint8_t* grey, const int16_t* half, const uint8_t* halfConfidence,
               int16_t* result, uint8_t* confidence, int32_t width, int32_t height, cudaStream_t stream);

Status depthMillimetres(const DepthGeometry& geometry, const int16_t* disparityQ4, uint16_t* millimetres, int32_t width,
                        int32_t height, cudaStream_t stream);

/// window: the part of both images, of width `width`, that is matched; results: packed, of the window's size.
Status cropPair(const uint8_t* left, const uint8_t* right, int32_t width, const Region& window, uint8_t* leftOut,
                uint8_t* rightOut, cudaStream_t stream);

/// right: null where its colours are not needed.
Status cropPair(const Rgb8* left, const Rgb8* right, int32_t width, const Region& window, Rgb8* leftOut, Rgb8* rightOut,
                cudaStream_t stream);

/// Results of the window set into whole images: the region's pixels as they are, all others invalid.
Status placeRegion(const int16_t* windowDisparityQ4, const uint8_t* windowConfidence, const Region& window,
                   const Region& region, int16_t* disparityQ4, uint8_t* confidence, int32_t width, int32_t height,
                   cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
