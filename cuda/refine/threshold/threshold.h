// SPDX-License-Identifier: Apache-2.0
// Drops pixels whose confidence is too low or whose depth is outside the limits. A dropped pixel has no disparity and
// confidence 0.
// A valid pixel is dropped by the first cause that holds, and counted there:
//   filled          minConfidence > 0 and confidence = 0: nothing was matched there
//   low confidence  confidence < minConfidence
//   too near        the depth in millimetres is below minMillimetres
//   too far         the depth is above maxMillimetres, or infinite
// in, out  disparityQ4 [height][width] int16, at most 32766 or kInvalidDisparity; confidence [height][width] uint8
// out      dropped: pixels by cause are added
// edge     none: pixels are independent.   same bits on every backend: the fast forms compare integers only.
#pragma once

#include <cstddef>

#include "../../../core/image.h"
#include "../../drop_cause.h"

namespace depthwatt {

struct ThresholdParameters {
  int32_t minConfidence = 0;  ///< 0 to 255; 0: any
  /// In the rounding of output/depth, but not limited to 65535. 0: no limit.
  int32_t minMillimetres = 0, maxMillimetres = 0;
  double focalPixels = 0, baselineMetres = 0, disparityOffsetPixels = 0;  ///< used if there is a limit
};

void thresholdReference(const ThresholdParameters& parameters, ImageView<int16_t> disparityQ4,
                        ImageView<uint8_t> confidence, int32_t dropped[kDropCauses]);

/// The limits of the fast forms (threshold_limits.h): they keep a valid pixel from minConfidence and lowestQ4 up to
/// highestQ4.
struct ThresholdLimits {
  uint8_t minConfidence;
  int16_t lowestQ4, highestQ4;
};

/// Processes rows [firstRow, endRow).
using ThresholdRows = void (*)(const ThresholdLimits& limits, ImageView<int16_t> disparityQ4,
                               ImageView<uint8_t> confidence, int32_t dropped[kDropCauses], int32_t firstRow,
                               int32_t endRow);
struct ThresholdKernels {
  ThresholdRows threshold;
};

}  // namespace depthwatt
