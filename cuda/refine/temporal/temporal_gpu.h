// SPDX-License-Identifier: Apache-2.0
// The temporal filter on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "temporal.h"

namespace depthwatt {
namespace gpu {

/// @param moved one byte per tile. @param movedCount the moved pixels of the frame
Status temporal(const uint8_t* grey, int16_t* disparityQ4, const TemporalState& state, uint8_t* moved,
                uint32_t* movedCount, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
