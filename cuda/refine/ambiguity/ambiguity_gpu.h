// SPDX-License-Identifier: Apache-2.0
// The confidence limit on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "ambiguity.h"

namespace depthwatt {
namespace gpu {

/// @param limit [blockRowCount(height)][blockColumnCount(width)]. @param sums scratch of as many words
Status ambiguity(const uint8_t* left, const uint8_t* right, const int16_t* disparityQ4, uint64_t* sums, uint8_t* limit,
                 int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
