// SPDX-License-Identifier: Apache-2.0
// Window SAD: the sum of absolute colour differences over a window, the smallest wins                (Prehn 2007, section 5.2)
//   cost      C(x, y, d) = min(255, sum over the six bytes of |L(x, y) - R(max(x - d, 0), y)|)    HsvPixel: weighted, in units
//   sum       S(x, y, d) = sum over the window of C at its pixels, those outside the image replaced by the nearest inside (eq. 5.1)
//   winner    the lowest d of the smallest S; every d of the search is a candidate (decision 0703). Sub-pixel and confidence as
//             match/select has them.
//   right     of pixel xr: the lowest d whose S(xr + d, y, d) is smallest, xr + d < width; kInvalidDisparity where there is none
// in   left, right [height][width] HsvPixel.       out  SadResult, [height][width]
// bound 15 x 15 x 255 fits uint16.   same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"
#include "../../../core/status.h"
#include "../../../core/workers.h"
#include "../hsv_pixel.h"

namespace depthwatt {

/// A cost is at most so much: a byte. In weighted grey values that is 255 / hsvUnits.
constexpr int32_t kSadMaxCost = 255;

struct SadParameters {
  int32_t minDisparity = 0;     ///< 0 to 2046
  int32_t numDisparities = 64;  ///< 1 to 512
  int32_t windowWidth = 5;      ///< odd, kSmallestWindow to kLargestWindow pixels
  int32_t windowHeight = 5;
  HsvWeights weights;  ///< what the images were made with
  bool subpixel = false;
};

struct SadImages {
  ImageView<const HsvPixel> left, right;
};

/// rightDisparity may be empty (data = nullptr): then it is not computed.
struct SadResult {
  ImageView<int16_t> disparityQ4;     ///< 1/16 px; every pixel has one
  ImageView<int16_t> disparity;       ///< whole pixels, the winner before sub-pixel
  ImageView<int16_t> rightDisparity;  ///< whole pixels
  ImageView<uint8_t> confidence;
};

/// kParameter with the name, the expected range and what came, or ok.
Status checkSadParameters(const SadParameters& parameters);

/// The definition. Slow: for small images.
void sadReference(const SadParameters& parameters, const SadImages& images, const SadResult& result);

struct SadKernels;

/// The fast form. The workspace is made once, at open, for one size, one set of parameters and one team.
class Sad {
 public:
  /// wantsRight: results have a rightDisparity; without it none may.
  static Status open(const SadParameters& parameters, int32_t width, int32_t height, bool wantsRight,
                     const SadKernels& kernels, Workers& workers, Sad** opened);
  virtual ~Sad() = default;
  virtual void compute(const SadImages& images, const SadResult& result) = 0;
  virtual size_t workspaceBytes() const = 0;
};

}  // namespace depthwatt
