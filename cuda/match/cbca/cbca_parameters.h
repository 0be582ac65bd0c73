// SPDX-License-Identifier: Apache-2.0
// What the cross-based matcher as a whole is told, on every backend: (Chang and Maruyama) with what decision 0803 fixes.
#pragma once

#include <cstdint>

namespace depthwatt {

struct CbcaParameters {
  int32_t minDisparity = 0, numDisparities = 64;
  bool halfResolution = true;  ///< the images are of half resolution
  /// Longest arm and grey difference of one region, by the scenes for tuning (decision 0803). The paper has arms of 21 x 31 at
  /// half and 41 x 61 at full resolution (section V), and 13 for both.
  int32_t arm() const { return halfResolution ? 3 : 9; }
  int32_t similarity() const { return halfResolution ? 30 : 13; }
};

/// Largest difference that bilateral estimation bridges, T = 3 pixels.
constexpr int32_t kCbcaThresholdQ4 = 48;

}  // namespace depthwatt
