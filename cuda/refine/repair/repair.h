// SPDX-License-Identifier: Apache-2.0
// Replaces outliers by the disparity of more certain pixels on both sides [Prehn 2007, section 5.3.3], in three passes:
// along the rows, along the columns, along the rows. Each pass reads the result of the previous one.
//   c = sure(x, y), need = ceil(11 c / 10)
//   a, b     on either side of (x, y) the nearest of the next 10 pixels inside the image with sure >= need
//   repaired where both exist and |d(a) - d(b)| <= 8 (half a pixel): d = floor((d(a) + d(b)) / 2), sure = need
// in, out  disparityQ4 [height][width] int16, 1/16 px, at most 32736 or kInvalidDisparity; sure [height][width] uint8, 0 where
//          nothing was matched: such a pixel is not repaired and repairs no other
// edge     pixels outside the image do not count.   need above 255: no pixel qualifies.   same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kRepairReach = 10;
constexpr int32_t kRepairPasses = 3;
constexpr int32_t kRepairAgreementQ4 = 8;

/// Runs all three passes.
void repairReference(ImageView<int16_t> disparityQ4, ImageView<uint8_t> sure);

struct RepairImages {
  ImageView<const int16_t> disparityQ4;
  ImageView<const uint8_t> sure;
};
struct RepairedImages {
  ImageView<int16_t> disparityQ4;
  ImageView<uint8_t> sure;
};

/// Computes rows [firstRow, endRow) of one pass: along the columns, or along the rows.
using RepairRows = void (*)(bool alongColumns, const RepairImages& in, const RepairedImages& out, int32_t firstRow,
                            int32_t endRow);
struct RepairKernels {
  RepairRows repair;
};

}  // namespace depthwatt
