// SPDX-License-Identifier: Apache-2.0
// A region of interest on CUDA: images of packed rows in device memory.
#pragma once

#include "../../device/check.h"
#include "../../frame.h"

namespace depthwatt {
namespace gpu {

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
