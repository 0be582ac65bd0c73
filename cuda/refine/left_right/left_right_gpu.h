// SPDX-License-Identifier: Apache-2.0
// The left-right check on CUDA: images of packed rows in device memory.
#pragma once

#include "../../device/check.h"
#include "left_right.h"

namespace depthwatt {
namespace gpu {

/// disparity, rightDisparity: whole pixels. Where both images agree exactly (Chang and Maruyama, eq. 10): 16 disparity and 255; elsewhere
/// kInvalidDisparity and 0.
Status groundControlPoints(const int16_t* disparity, const int16_t* rightDisparity, int16_t* disparityQ4,
                           uint8_t* confidence, int32_t width, int32_t height, cudaStream_t stream);

/// refine/left_right in place; disparity, rightDisparity: whole pixels.
Status leftRight(const int16_t* disparity, const int16_t* rightDisparity, int16_t* disparityQ4, uint8_t* confidence,
                 int32_t tolerance, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
