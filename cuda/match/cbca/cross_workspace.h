// SPDX-License-Identifier: Apache-2.0
// The launcher of match/cross on a device.
#pragma once

#include <cuda_runtime.h>

#include "../../device/check.h"
#include "cross_plan.h"

namespace depthwatt {
namespace gpu {

/// Most bytes that both images' sums along the rows take; beyond it disparities are aggregated in more chunks.
constexpr size_t kCrossVolumeBytes = size_t{160} << 20;

struct CrossDevice;

/// All device memory that aggregation needs; made at open.
class CrossWorkspace {
 public:
  CrossWorkspace();
  ~CrossWorkspace();
  Status open(const CrossParameters& parameters, int32_t width, int32_t height,
              const CrossTuning& tuning = CrossTuning());
  size_t bytes() const;
  /// cross.h: device images, packed rows.
  Status compute(const uint8_t* left, const uint8_t* right, int16_t* disparity, int16_t* rightDisparity,
                 cudaStream_t stream);

 private:
  CrossWorkspace(const CrossWorkspace&) = delete;
  CrossWorkspace& operator=(const CrossWorkspace&) = delete;
  CrossDevice* device_;
};

}  // namespace gpu
}  // namespace depthwatt
