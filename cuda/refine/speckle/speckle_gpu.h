// SPDX-License-Identifier: Apache-2.0
// The speckle filter on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "speckle.h"

namespace depthwatt {
namespace gpu {

/// @param scratch 2 width height words
Status speckle(const SpeckleParameters& parameters, int16_t* disparityQ4, uint8_t* confidence, int32_t* scratch,
               int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
