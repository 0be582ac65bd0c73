// SPDX-License-Identifier: Apache-2.0
// Mirrors images on CUDA: device images with packed rows.
#pragma once

#include "../../core/image.h"
#include "../device/check.h"

namespace depthwatt {
namespace gpu {

/// Reverses the columns of an image with packed rows.
Status mirrorColumns(const uint8_t* from, uint8_t* to, int32_t width, int32_t height, cudaStream_t stream);
Status mirrorColumns(const Rgb8* from, Rgb8* to, int32_t width, int32_t height, cudaStream_t stream);
Status mirrorColumns(const int16_t* from, int16_t* to, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
