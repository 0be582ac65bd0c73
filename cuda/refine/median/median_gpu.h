// SPDX-License-Identifier: Apache-2.0
// The 3 x 3 median on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "median.h"

namespace depthwatt {
namespace gpu {

Status median(const int16_t* in, int16_t* out, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
