// SPDX-License-Identifier: Apache-2.0
// Left-right check: a pixel whose match in the right image does not point back to it is occluded or wrong.
//   dl = disparity(x, y), dr = rightDisparity(x - dl, y): keep where dr is valid and |dl - dr| <= tolerance, else invalid.
// in   disparity, rightDisparity [height][width] int16 whole pixels (integer winners, see match/select)
// io   disparityQ4 [height][width] int16, confidence [height][width] uint8 (may be empty): invalid and 0 where rejected
// edge x - dl outside the image: rejected.   ties: none.   idempotent.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

struct LeftRightImages {
  ImageView<const int16_t> disparity, rightDisparity;
  ImageView<int16_t> disparityQ4;
  ImageView<uint8_t> confidence;
  int32_t tolerance = 1;  ///< 0 to 32766; 1, or 0 for ground control points (Chang and Maruyama, eq. 10)
};

void leftRightReference(const LeftRightImages& images);

/// Checks rows [firstRow, endRow); rows are independent.
using LeftRightRows = void (*)(const LeftRightImages& images, int32_t firstRow, int32_t endRow);
struct LeftRightKernels {
  LeftRightRows leftRight;
};

}  // namespace depthwatt
