// SPDX-License-Identifier: Apache-2.0
// The threshold on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "threshold.h"

namespace depthwatt {
namespace gpu {

/// @param dropped [kDropCauses], set to the pixels that this call drops
Status threshold(const ThresholdLimits& limits, int16_t* disparityQ4, uint8_t* confidence, int32_t* dropped,
                 int32_t pixels, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
