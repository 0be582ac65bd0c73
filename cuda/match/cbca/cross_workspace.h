// SPDX-License-Identifier: Apache-2.0
// Launches cross-based aggregation on a device.
#pragma once

#include <cuda_runtime.h>

#include "../../device/check.h"
#include "cross_plan.h"

namespace depthwatt {
namespace gpu {

/// The largest size of both images' sums along the rows; beyond it disparities are aggregated in more chunks.
constexpr size_t kCrossVolumeBytes = size_t{160} << 20;

struct CrossDevice;

/// All device memory of aggregation, allocated at open.
class CrossWorkspace {
 public:
  CrossWorkspace();
  ~CrossWorkspace();
  Status open(const CrossParameters& parameters, int32_t width, int32_t height,
              const CrossTuning& tuning = CrossTuning());
  size_t bytes() const;
  /// See cross.h. Device images with packed rows.
  Status compute(const uint8_t* left, const uint8_t* right, int16_t* disparity, int16_t* rightDisparity,
                 cudaStream_t stream);

 private:
  CrossWorkspace(const CrossWorkspace&) = delete;
  CrossWorkspace& operator=(const CrossWorkspace&) = delete;
  CrossDevice* device_;
};

}  // namespace gpu
}  // namespace depthwatt
