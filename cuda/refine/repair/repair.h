// SPDX-License-Identifier: Apache-2.0
// Outliers take the disparity of surer pixels on both sides of them [Prehn 2007, section 5.3.3]: a pass along the rows, one along the
// columns, one along the rows again. Each pass reads what the pass before it has made.
//   c = sure(x, y), need = ceil(11 c / 10)
//   a, b     on either side of (x, y) the nearest of the next 10 pixels inside the image with sure >= need
//   repaired where both are there and |d(a) - d(b)| <= 8 (half a pixel): d = floor((d(a) + d(b)) / 2), sure = need
// in, out  disparityQ4 [height][width] int16, 1/16 px, at most 32736 or kInvalidDisparity; sure [height][width] uint8, 0 where
//          nothing was matched: such a pixel is not repaired, and none is repaired from it
// edge     pixels outside the image are none.   need above 255: nobody is as sure.   same bits wherever it runs: integer only.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kRepairReach = 10;
constexpr int32_t kRepairPasses = 3;
constexpr int32_t kRepairAgreementQ4 = 8;

/// All three passes.
void repairReference(ImageView<int16_t> disparityQ4, ImageView<uint8_t> sure);

struct RepairImages {
  ImageView<const int16_t> disparityQ4;
  ImageView<const uint8_t> sure;
};
struct RepairedImages {
  ImageView<int16_t> disparityQ4;
  ImageView<uint8_t> sure;
};

/// Rows [firstRow, endRow) of one pass: along the columns, or along the rows.
using RepairRows = void (*)(bool alongColumns, const RepairImages& in, const RepairedImages& out, int32_t firstRow,
                            int32_t endRow);
struct RepairKernels {
  RepairRows repair;
};

}  // namespace depthwatt
