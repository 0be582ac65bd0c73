// SPDX-License-Identifier: Apache-2.0
// The confidence measures on CUDA: images of packed rows in device memory.
#pragma once

#include "../../device/check.h"
#include "window_confidence.h"

namespace depthwatt {
namespace gpu {

/// A measure of refine/window_confidence. sure: another image than certainty.
Status windowConfidence(ConfidenceMeasure measure, const uint8_t* left, const uint8_t* right,
                        const int16_t* disparityQ4, const uint8_t* certainty, bool zeroIsEstimated, uint8_t* sure,
                        int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
