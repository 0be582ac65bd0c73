// SPDX-License-Identifier: Apache-2.0
// The confidence measures on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "window_confidence.h"

namespace depthwatt {
namespace gpu {

/// Computes a measure of refine/window_confidence. @param sure another image than certainty
Status windowConfidence(ConfidenceMeasure measure, const uint8_t* left, const uint8_t* right,
                        const int16_t* disparityQ4, const uint8_t* certainty, bool zeroIsEstimated, uint8_t* sure,
                        int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
