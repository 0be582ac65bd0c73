// SPDX-License-Identifier: Apache-2.0
// The confidence on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "confidence.h"

namespace depthwatt {
namespace gpu {

/// @param sure another image than certainty. @param limit ambiguity's, or null
Status confidence(const uint8_t* grey, const int16_t* disparityQ4, const uint8_t* certainty, bool zeroIsEstimated,
                  const uint8_t* limit, uint8_t* sure, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
