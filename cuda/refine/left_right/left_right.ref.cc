// SPDX-License-Identifier: Apache-2.0
// The definition of the left-right check; see left_right.h.
#include "left_right.h"

namespace depthwatt {

void leftRightReference(const LeftRightImages& images) {
  const int32_t width = images.disparity.width;
  for (int32_t y = 0; y < images.disparity.height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const int32_t dl = images.disparity.row(y)[x];
      const int32_t xr = x - dl;
      bool keep = false;
      if (dl != kInvalidDisparity && xr >= 0 && xr < width) {
        const int32_t dr = images.rightDisparity.row(y)[xr];
        const int32_t difference = dl > dr ? dl - dr : dr - dl;
        keep = dr != kInvalidDisparity && difference <= images.tolerance;
      }
      if (keep) continue;
      images.disparityQ4.row(y)[x] = kInvalidDisparity;
      if (images.confidence.data != nullptr) images.confidence.row(y)[x] = 0;
    }
  }
}

}  // namespace depthwatt
