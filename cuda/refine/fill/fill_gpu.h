// SPDX-License-Identifier: Apache-2.0
// Filling on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "fill.h"

namespace depthwatt {
namespace gpu {

/// @param out another image than in. @param scratch (width + 1) height words. The method must not be off.
Status fill(const FillParameters& parameters, const uint8_t* grey, const int16_t* in, int16_t* out, uint8_t* confidence,
            int32_t* scratch, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
