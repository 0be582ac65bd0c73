// SPDX-License-Identifier: Apache-2.0
// A region of interest on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "../../frame.h"

namespace depthwatt {
namespace gpu {

/// Crops both images. @param window the matched part of images of width `width`. Results are packed, of the window's
/// size.
Status cropPair(const uint8_t* left, const uint8_t* right, int32_t width, const Region& window, uint8_t* leftOut,
                uint8_t* rightOut, cudaStream_t stream);
/// @param right null if its colours are not needed
Status cropPair(const Rgb8* left, const Rgb8* right, int32_t width, const Region& window, Rgb8* leftOut, Rgb8* rightOut,
                cudaStream_t stream);

/// Places the window's results in whole images: copies the region's pixels and makes all others invalid.
Status placeRegion(const int16_t* windowDisparityQ4, const uint8_t* windowConfidence, const Region& window,
                   const Region& region, int16_t* disparityQ4, uint8_t* confidence, int32_t width, int32_t height,
                   cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
