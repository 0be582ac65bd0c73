// SPDX-License-Identifier: Apache-2.0
// Speckle filter: a region of fewer than minPixels valid pixels, 4-connected by steps of at most rangeQ4, becomes invalid.
//   p and q belong to one region if a chain of 4-neighbours joins them, all valid, each step |d - d'| <= rangeQ4.
// io   disparityQ4 [height][width] int16; confidence [height][width] uint8 (may be empty): 0 where removed
// the order of scanning has no effect: regions are an equivalence.   same bits on every backend.
#pragma once

#include "../../../core/image.h"
#include "../../../core/workers.h"

namespace depthwatt {

struct SpeckleParameters {
  int32_t minPixels = 0;  ///< 0 = filter off, to 2^30
  int32_t rangeQ4 = 16;   ///< 0 to 32767
};

void speckleReference(const SpeckleParameters& parameters, ImageView<int16_t> disparityQ4,
                      ImageView<uint8_t> confidence);

/// Returns the int32 words of scratch that speckleFilter needs for one image size.
size_t speckleScratchWords(int32_t width, int32_t height);

/// The fast form. The caller allocates scratch at open.
void speckleFilter(const SpeckleParameters& parameters, ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence,
                   int32_t* scratch, Workers& workers);

}  // namespace depthwatt
