// SPDX-License-Identifier: Apache-2.0
// Halves images on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "half.h"

namespace depthwatt {
namespace gpu {

/// Halves both images of a pair in one launch. Results have half the size, rounded up.
Status half(const uint8_t* left, const uint8_t* right, uint8_t* leftOut, uint8_t* rightOut, int32_t inWidth,
            int32_t inHeight, cudaStream_t stream);

Status halfRgb(const Rgb8* in, Rgb8* out, int32_t inWidth, int32_t inHeight, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
