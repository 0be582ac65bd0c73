// SPDX-License-Identifier: Apache-2.0
// The two-gradient census on CUDA: images of packed rows in device memory.
#pragma once

#include "../../../device/check.h"
#include "two_gradient_census.h"

namespace depthwatt {
namespace gpu {

/// Both images of a pair in one launch.
Status twoGradientCensus(const uint8_t* left, const uint8_t* right, uint32_t* leftOut, uint32_t* rightOut,
                         int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
