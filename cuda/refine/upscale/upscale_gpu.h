// SPDX-License-Identifier: Apache-2.0
// Upscaling on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "upscale.h"

namespace depthwatt {
namespace gpu {

/// @param grey, result, confidence full size. @param half, halfConfidence half the size, rounded up
Status upscale(int32_t thresholdQ4, const uint8_t* grey, const int16_t* half, const uint8_t* halfConfidence,
               int16_t* result, uint8_t* confidence, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
