// SPDX-License-Identifier: Apache-2.0
// The repair on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "repair.h"

namespace depthwatt {
namespace gpu {

/// Repairs from the first two images to the other two. The first two are used as scratch.
Status repair(int16_t* disparityQ4, uint8_t* sure, int16_t* repairedQ4, uint8_t* repairedSure, int32_t width,
              int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
