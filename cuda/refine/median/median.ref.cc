// SPDX-License-Identifier: Apache-2.0
// The definition of the 3 x 3 median; see median.h.
#include "median.h"

namespace depthwatt {

void medianReference(ImageView<const int16_t> in, ImageView<int16_t> out) {
  for (int32_t y = 0; y < in.height; ++y) {
    for (int32_t x = 0; x < in.width; ++x) {
      const int16_t centre = in.row(y)[x];
      int16_t values[9];
      int count = 0;
      for (int32_t j = -1; j <= 1; ++j) {
        for (int32_t i = -1; i <= 1; ++i) {
          int32_t nx = x + i, ny = y + j;
          if (nx < 0) nx = 0;
          if (nx > in.width - 1) nx = in.width - 1;
          if (ny < 0) ny = 0;
          if (ny > in.height - 1) ny = in.height - 1;
          int16_t value = in.row(ny)[nx];
          if (value == kInvalidDisparity) value = centre;
          // Insert into the sorted values.
          int place = count++;
          while (place > 0 && values[place - 1] > value) {
            values[place] = values[place - 1];
            --place;
          }
          values[place] = value;
        }
      }
      out.row(y)[x] = centre == kInvalidDisparity ? kInvalidDisparity : values[4];
    }
  }
}

}  // namespace depthwatt
