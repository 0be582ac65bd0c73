// SPDX-License-Identifier: Apache-2.0
// The launcher of semi-global matching on a device, and the memory it needs.
#pragma once

#include <cuda_runtime.h>

#include "sgm.h"

namespace depthwatt {
namespace gpu {

struct SgmDevice;

/// A matter of speed alone: results are the same.
struct SgmTuning {
  int rowLanes = 0;         ///< lanes that walk a line, 8 or 32; 0 = chosen by size
  int columnLanes = 0;      ///< the same for columns and diagonals
  int multiprocessors = 0;  ///< that the work will run on; 0 = the device's
  int beside = 0;           ///< all sets of lines at once: 1 yes, -1 one after the other, 0 = chosen by size
  int oneForDiagonals =
      0;           ///< with 8 paths, one volume for both pairs of diagonals, where sums fit: 1 yes, -1 no, 0 = chosen
  int stages = 4;  ///< for timing: 0 nothing, 1 costs, 2 and the first half of the rows, 3 and all other walks, 4 all
  bool costsApart = false;         ///< costs and rows in kernels of their own where one could do both
  bool separateSelection = false;  ///< rows do not select, a kernel of its own does
};

/// All device memory that matching needs; made at open.
class SgmWorkspace {
 public:
  SgmWorkspace();
  ~SgmWorkspace();
  Status open(const SgmParameters& parameters, int32_t width, int32_t height, const SgmTuning& tuning = SgmTuning());
  size_t bytes() const;
  /// Aggregates and selects. leftRight: the check of refine/left_right is done where both rows lie on the chip.
  /// moreLeft, moreRight: the second words, where the parameters say that there are two.
  /// disparityQ4, disparity (whole pixels), confidence: device images; rightDisparity may be null.
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
