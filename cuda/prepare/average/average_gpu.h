// SPDX-License-Identifier: Apache-2.0
// The average over time on CUDA: device images with packed rows.
#pragma once

#include "../../device/check.h"
#include "average.h"

namespace depthwatt {
namespace gpu {

/// The images of one side, as in AverageTask.
struct AverageSide {
  const uint8_t* image;
  const uint8_t* filtered;
  const int16_t* before;
  int16_t* after;
  uint8_t* averaged;
};

/// @param limit in device memory, so that a captured frame keeps its kernel
Status average(const AverageSide& left, const AverageSide& right, const int32_t* limit, int32_t width, int32_t height,
               cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
