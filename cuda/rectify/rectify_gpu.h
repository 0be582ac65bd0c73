// SPDX-License-Identifier: Apache-2.0
// Rectification on CUDA: device images with packed rows.
#pragma once

#include "../device/check.h"
#include "rectify.h"

namespace depthwatt {
namespace gpu {

Status rectify(const RectifySource& source, const int32_t* map, uint8_t* out, int32_t width, int32_t height,
               cudaStream_t stream);

/// Rectifies in colours, for formats that have them.
Status rectifyRgb(const RectifySource& source, const int32_t* map, Rgb8* out, int32_t width, int32_t height,
                  cudaStream_t stream);

/// Copies grey to red, green and blue.
Status greyAsRgb(const uint8_t* grey, Rgb8* out, int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
