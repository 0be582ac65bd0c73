// SPDX-License-Identifier: Apache-2.0
// Shared by the references of the matchers: selection from a pixel's costs, by the rules of match/select/select.h. Fast
// code does not use it.
#pragma once

#include "../../core/image.h"

namespace depthwatt {

/// Returns 16 times the vertex of the parabola through three neighbouring costs, relative to the middle one:
/// floor((2 n + q) / (2 q)) with n = 8 (below - above) and q = below + above - 2 best; 0 where q <= 0.
inline int32_t subpixelQ4(int64_t below, int64_t best, int64_t above) {
  const int64_t n = 8 * (below - above), q = below + above - 2 * best;
  if (q <= 0) return 0;
  const int64_t quotient = (2 * n + q) / (2 * q);
  return static_cast<int32_t>((2 * n + q) % (2 * q) < 0 ? quotient - 1 : quotient);
}

/// Selects the disparities of row y, where every disparity of the search is a candidate: winner, sub-pixel and
/// confidence, and the right image's winner if the result has one.
/// costs: [width][numDisparities]
template <class Parameters, class Result>
void selectRow(const Parameters& p, const int64_t* costs, int32_t y, const Result& result) {
  const int32_t width = result.disparity.width, count = p.numDisparities;
  const auto at = [&](int32_t x) { return costs + static_cast<size_t>(x) * count; };
  for (int32_t x = 0; x < width; ++x) {
    const int64_t* cells = at(x);
    int32_t best = 0;
    for (int32_t d = 1; d < count; ++d) {
      if (cells[d] < cells[best]) best = d;
    }
    int64_t second = -1;
    for (int32_t d = 0; d < count; ++d) {
      const bool secondBest = d < best - 1 || d > best + 1;
      if (secondBest && (second < 0 || cells[d] < second)) second = cells[d];
    }
    int32_t fine = 0;
    if (p.subpixel && best > 0 && best + 1 < count) fine = subpixelQ4(cells[best - 1], cells[best], cells[best + 1]);
    result.disparity.row(y)[x] = static_cast<int16_t>(p.minDisparity + best);
    result.disparityQ4.row(y)[x] = static_cast<int16_t>(16 * (p.minDisparity + best) + fine);
    result.confidence.row(y)[x] =
        second < 0 ? 0 : static_cast<uint8_t>(255 * (second - cells[best]) / (second > 1 ? second : 1));
  }
  if (result.rightDisparity.data == nullptr) return;
  for (int32_t xr = 0; xr < width; ++xr) {
    int32_t best = -1;
    for (int32_t d = 0; d < count && xr + p.minDisparity + d < width; ++d) {
      const int32_t x = xr + p.minDisparity;
      if (best < 0 || at(x + d)[d] < at(x + best)[best]) best = d;
    }
    result.rightDisparity.row(y)[xr] = best < 0 ? kInvalidDisparity : static_cast<int16_t>(p.minDisparity + best);
  }
}

}  // namespace depthwatt
