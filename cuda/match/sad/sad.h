// SPDX-License-Identifier: Apache-2.0
// Window SAD: the sum of absolute colour differences over a window, the smallest wins                (Prehn 2007, section 5.2)
//   cost      C(x, y, d) = min(255, sum over the six bytes of |L(x, y) - R(max(x - d, 0), y)|)    HsvPixel: weighted, in units
//   sum       S(x, y, d) = sum over the window of C at its pixels, those outside the image replaced by the nearest inside (eq. 5.1)
//   winner    the lowest d of the smallest S; every d of the search is a candidate (decision 0040). Sub-pixel and confidence as
//             match/select has them.
//   right     of pixel xr: the lowest d whose S(xr + d, y, d) is smallest, xr + d < width; kInvalidDisparity where there is none
// in   left, right [height][width] HsvPixel.       out  SadResult, [height][width]
// bound 15 x 15 x 255 fits uint16.   same bits on every backend: integer only.
#pragma once

#include "../../../core/workers.h"
#include "../../simd/instruction_set.h"
#include "../window.h"

namespace depthwatt {

/// The largest cost: a byte. In weighted grey values it is 255 / hsvUnits.
constexpr int32_t kSadMaxCost = 255;

struct SadParameters : WindowParameters {
  HsvWeights weights;  ///< the images were made with these
};

using SadImages = WindowImages;
using SadResult = WindowResult;

Status checkSadParameters(const SadParameters& parameters);

/// The definition. Slow: use it for small images.
void sadReference(const SadParameters& parameters, const SadImages& images, const SadResult& result);

class Sad : public WindowMatcher {
 public:
  /// Opens it for one size. @param wantsRight results have a rightDisparity; otherwise none may
  static Status open(const SadParameters& parameters, int32_t width, int32_t height, bool wantsRight,
                     InstructionSet set, Workers& workers, Sad** opened);
};

}  // namespace depthwatt
