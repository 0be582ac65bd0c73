// SPDX-License-Identifier: Apache-2.0
// The gradient census on CUDA: images of packed rows in device memory.
#pragma once

#include "../../../device/check.h"
#include "gradient_census.h"

namespace depthwatt {
namespace gpu {

Status gradientCensus(const uint8_t* image, uint32_t* out, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
