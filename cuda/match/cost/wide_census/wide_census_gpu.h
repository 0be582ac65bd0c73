// SPDX-License-Identifier: Apache-2.0
// The wide census on CUDA: images of packed rows in device memory.
#pragma once

#include "../../../device/check.h"
#include "wide_census.h"

namespace depthwatt {
namespace gpu {

/// Both words of both images of a pair in one launch.
Status wideCensus(const uint8_t* left, const uint8_t* right, uint32_t* leftFirst, uint32_t* leftSecond,
                  uint32_t* rightFirst, uint32_t* rightSecond, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
