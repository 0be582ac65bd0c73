// SPDX-License-Identifier: Apache-2.0
// Depth in millimetres on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "depth.h"

namespace depthwatt {
namespace gpu {

Status depthMillimetres(const DepthGeometry& geometry, const int16_t* disparityQ4, uint16_t* millimetres, int32_t width,
                        int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
