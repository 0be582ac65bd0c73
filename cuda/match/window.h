// SPDX-License-Identifier: Apache-2.0
// Shared by sad and pyramid, which compare windows of weighted hue, saturation and value (Prehn 2007, section 5).
#pragma once

#include "../../core/image.h"
#include "../../core/status.h"
#include "hsv_pixel.h"

namespace depthwatt {

/// The sides of a window are odd and within these.
constexpr int32_t kSmallestWindow = 3, kLargestWindow = 15;

struct WindowParameters {
  int32_t minDisparity = 0;     ///< 0 to 2046
  int32_t numDisparities = 64;  ///< 1 to 512
  int32_t windowWidth = 5;      ///< odd, kSmallestWindow to kLargestWindow pixels
  int32_t windowHeight = 5;
  bool subpixel = false;
};

struct WindowImages {
  ImageView<const HsvPixel> left, right;
};

/// rightDisparity may be empty (data = nullptr): then it is not computed.
struct WindowResult {
  ImageView<int16_t> disparityQ4;     ///< 1/16 px; every pixel has one
  ImageView<int16_t> disparity;       ///< whole pixels, the winner before sub-pixel
  ImageView<int16_t> rightDisparity;  ///< whole pixels
  ImageView<uint8_t> confidence;
};

/// Returns kParameter with the name, the expected range and the value of the first wrong parameter, or ok.
Status checkWindowParameters(const WindowParameters& parameters);

/// The fast form on the CPU. It allocates its workspace at open, for one size, one set of parameters and one team of
/// workers.
class WindowMatcher {
 public:
  virtual ~WindowMatcher() = default;
  virtual void compute(const WindowImages& images, const WindowResult& result) = 0;
  virtual size_t workspaceBytes() const = 0;
};

}  // namespace depthwatt
