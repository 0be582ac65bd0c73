// SPDX-License-Identifier: Apache-2.0
// The cross-based matcher out of its rooms' definitions, in the order of cpu/cbca.cc: what the twins and the timings expect.
#pragma once

#include <vector>

#include "../match/cbca/cbca_parameters.h"
#include "../match/cbca/cross.h"
#include "../refine/fill/fill.h"
#include "../refine/left_right/left_right.h"
#include "../refine/median/median.h"

namespace depthwatt {

/// Ground control points of two eyes' winners.
inline void groundControlPointsReference(ImageView<const int16_t> whole, ImageView<const int16_t> rightWhole,
                                         ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence) {
  for (int32_t y = 0; y < whole.height; ++y) {
    for (int32_t x = 0; x < whole.width; ++x) {
      const int32_t own = whole.row(y)[x];
      disparityQ4.row(y)[x] = static_cast<int16_t>(own == kInvalidDisparity ? own : 16 * own);
      confidence.row(y)[x] = 255;
    }
  }
  LeftRightImages check = {whole, rightWhole, disparityQ4, confidence};
  check.tolerance = 0;
  leftRightReference(check);
}

inline void cbcaReference(const CrossParameters& cross, ImageView<const uint8_t> left, ImageView<const uint8_t> right,
                          ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence) {
  const size_t pixels = static_cast<size_t>(left.width) * left.height;
  std::vector<int16_t> whole(pixels), rightWhole(pixels), points(pixels);
  const auto view = [&](std::vector<int16_t>& image) { return packedView(image.data(), left.width, left.height); };
  crossReference(cross, {left, right, view(whole), view(rightWhole)});
  groundControlPointsReference(view(whole).asConst(), view(rightWhole).asConst(), view(points), confidence);
  medianReference(view(points).asConst(), disparityQ4);
  FillParameters fill;
  fill.method = FillMethod::kBilateral;
  fill.thresholdQ4 = kCbcaThresholdQ4;
  fillReference(fill, left, disparityQ4, {});
}

}  // namespace depthwatt
