// SPDX-License-Identifier: Apache-2.0
// Launches coarse-to-fine search on a device, and owns its memory. Levels run one after the other and share the volumes.
#pragma once

#include <cuda_runtime.h>

#include "sgm.h"

namespace depthwatt {
namespace gpu {

struct GuidedDevice;

/// The kernels of a level, in order: blocks, costs, lines, selection.
constexpr int kGuidedKernels = 4;

/// The images of a level: device images with packed rows.
struct GuidedImages {
  const uint32_t *censusLeft, *censusRight;
  const uint32_t *moreLeft, *moreRight;  ///< the second words if the parameters have two
  const uint8_t* greyLeft;
};

/// The images that the finest level writes.
struct GuidedResult {
  bool leftRight;  ///< check left against right
  int16_t* disparityQ4;
  int16_t* disparity;  ///< whole pixels
  uint8_t* confidence;
};

class GuidedWorkspace {
 public:
  GuidedWorkspace();
  ~GuidedWorkspace();
  /// @param parameters those of the finest level, whose range is larger than kFullRange
  Status open(const SgmParameters& parameters, int32_t width, int32_t height);
  size_t bytes() const;
  int levels() const;
  int32_t width(int level) const;
  int32_t height(int level) const;
  /// Matches a level; 0 is the finest one. The next coarser level must have been matched before.
  /// @param kernels for timing: only the first ones of the level run
  Status compute(int level, const GuidedImages& images, const GuidedResult& result, cudaStream_t stream,
                 int kernels = kGuidedKernels);

 private:
  GuidedWorkspace(const GuidedWorkspace&) = delete;
  GuidedWorkspace& operator=(const GuidedWorkspace&) = delete;
  GuidedDevice* device_;
};

}  // namespace gpu
}  // namespace depthwatt
