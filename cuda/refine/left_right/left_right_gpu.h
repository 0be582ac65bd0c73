// SPDX-License-Identifier: Apache-2.0
// The left-right check on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "left_right.h"

namespace depthwatt {
namespace gpu {

/// Finds ground control points from whole pixels. Where both images agree exactly (Chang and Maruyama, eq. 10): 16
/// disparity and 255; elsewhere kInvalidDisparity and 0.
Status groundControlPoints(const int16_t* disparity, const int16_t* rightDisparity, int16_t* disparityQ4,
                           uint8_t* confidence, int32_t width, int32_t height, cudaStream_t stream);

/// Checks in place. disparity, rightDisparity: whole pixels.
Status leftRight(const int16_t* disparity, const int16_t* rightDisparity, int16_t* disparityQ4, uint8_t* confidence,
                 int32_t tolerance, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
