// SPDX-License-Identifier: Apache-2.0
// Local planes on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "slant.h"

namespace depthwatt {
namespace gpu {

Status slant(const uint8_t* grey, const int16_t* disparityQ4, int16_t* result, int32_t width, int32_t height,
             cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
