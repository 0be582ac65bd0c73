// SPDX-License-Identifier: Apache-2.0
// The noise filter on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "denoise.h"

namespace depthwatt {
namespace gpu {

/// Filters both images of a pair in one launch, as in denoise.h, guided by the smoothed image. @param range one int32
/// in device memory; at 0 the images are copied
Status smooth(const int32_t* range, const uint8_t* left, const uint8_t* right, uint8_t* leftOut, uint8_t* rightOut,
              int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
