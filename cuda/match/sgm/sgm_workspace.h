// SPDX-License-Identifier: Apache-2.0
// Launches semi-global matching on a device, and owns its memory.
#pragma once

#include <cuda_runtime.h>

#include "sgm.h"

namespace depthwatt {
namespace gpu {

struct SgmDevice;

/// Tuning affects only speed: results are the same.
struct SgmTuning {
  int rowLanes = 0;         ///< lanes per line, 8 or 32; 0 = chosen by size
  int columnLanes = 0;      ///< the same for columns and diagonals
  int multiprocessors = 0;  ///< the work will run on this many; 0 = the device's
  int priority = 0;         ///< of the streams that it opens
  int parallel = 0;         ///< all sets of lines at once: 1 yes, -1 in sequence, 0 = chosen by size
  int oneForDiagonals =
      0;           ///< with 8 paths, one volume for both pairs of diagonals if sums fit: 1 yes, -1 no, 0 = chosen
  int stages = 4;  ///< for timing: 0 nothing, 1 costs, 2 and the first half of the rows, 3 and all other walks, 4 all
  bool costsApart = false;         ///< with 4 paths: separate kernels for costs and rows even if one could do both
  bool longKeys = false;           ///< keys for large sums even if others fit
  bool separateSelection = false;  ///< a separate kernel selects, not the rows
};

/// All device memory of matching, allocated at open.
class SgmWorkspace {
 public:
  SgmWorkspace();
  ~SgmWorkspace();
  Status open(const SgmParameters& parameters, int32_t width, int32_t height, const SgmTuning& tuning = SgmTuning());
  size_t bytes() const;
  /// Aggregates and selects. @param leftRight run the check of refine/left_right while both rows are on the chip.
  /// @param moreLeft, moreRight the second words if the parameters have two. disparityQ4, disparity (whole pixels),
  /// confidence: device images; rightDisparity may be null.
  Status compute(const uint32_t* censusLeft, const uint32_t* censusRight, const uint8_t* greyLeft, bool leftRight,
                 int16_t* disparityQ4, int16_t* disparity, int16_t* rightDisparity, uint8_t* confidence,
                 cudaStream_t stream, const uint32_t* moreLeft = nullptr, const uint32_t* moreRight = nullptr);

 private:
  SgmWorkspace(const SgmWorkspace&) = delete;
  SgmWorkspace& operator=(const SgmWorkspace&) = delete;
  SgmDevice* device_;
};

}  // namespace gpu
}  // namespace depthwatt
