// SPDX-License-Identifier: Apache-2.0
// Doubling on CUDA: images of packed rows in device memory.
#pragma once

#include "../../device/check.h"
#include "upscale.h"

namespace depthwatt {
namespace gpu {

/// grey, result and confidence: of full size; half and halfConfidence: of half the size, rounded up.
Status upscale(int32_t thresholdQ4, const uint8_t* grey, const int16_t* half, const uint8_t* halfConfidence,
               int16_t* result, uint8_t* confidence, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
