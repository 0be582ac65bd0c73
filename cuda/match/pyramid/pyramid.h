// SPDX-License-Identifier: Apache-2.0
// Pyramid SAD: window SAD of small copies first, whose disparities are refined copy by copy              (Prehn 2007, section 5.3)
//   copies    level 0 is the image; level v + 1 is half as wide and high, rounded up. The unit of a copy is two thirds of the
//             image's: of the sums C over 2 x 2 pixels of each hue byte, of saturation's bytes and of value's,
//             T = floor((m C + 4) / 8), m = 3 from the image, 2 from a copy: their mean in the copy's units, half up. So saturation
//             and value have a third byte each (HsvPixel::none). Hue is min(255, T); the others are three bytes t(0), t(255),
//             t(510), t(o) = min(255, max(0, T - o)), whose differences add up to that of T
//   range     of level v: lo = floor(min / 2^v) to hi = ceil(max / 2^v), at the coarsest floor(max / 2^v), min and max being the first
//             and the last disparity of the search
//   sum       S(x, y, d) = sum over the window of the eight bytes' |L(x + i, y + j) - R(x + i - d, y + j)|         (eq. 5.1)
//   coarsest  the winner among lo to hi
//   finer     guess g = 2 D(x >> 1, y >> 1) of the level above; the winner among g - 1, g, g + 1, g + 2 that lie in lo to hi.
//             A winner other than a guess in the range must stand out: with the second best S2 of the candidates, at d2, the
//             guess stays where 100 (S2 - S) < peakRatio S2 |d2 - d|                        (peak ratio, section 5.3.2.2)
//   ties      to the higher disparity, winner and second best alike
//   sub-pixel as match/select has it, where S is no larger than that of both neighbours, which are candidates; else whole
//   confidence floor(255 (S2 - S) / max(S2, 1)), S2 the smallest of the candidates but the winner and its neighbours; 0 where
//             there is none or it is below S
//   right     the same with the images exchanged and x + i + d in place of x + i - d
// in   left, right [height][width] HsvPixel as hsv gives it: halves of at most 510 units, none = 0.       out  PyramidResult, [height][width], level 0
// edge each coordinate outside an image becomes the nearest inside.       same bits on every backend: integer only.
#pragma once

#include "../../../core/workers.h"
#include "../../simd/instruction_set.h"
#include "../window.h"

namespace depthwatt {

constexpr int32_t kMaxLevels = 4;
/// Candidates from g - 1 on.
constexpr int32_t kPyramidCandidates = 4;

struct PyramidParameters : WindowParameters {
  int32_t levels = 3;     ///< coarser copies, 1 to kMaxLevels
  int32_t peakRatio = 5;  ///< percent, 0 to 50

  PyramidParameters() { windowWidth = windowHeight = 7; }
  int32_t lowest(int32_t level) const { return minDisparity >> level; }
  int32_t highest(int32_t level) const {
    const int32_t last = minDisparity + numDisparities - 1;
    return level == levels ? last >> level : (last + (1 << level) - 1) >> level;
  }
};

using PyramidImages = WindowImages;
using PyramidResult = WindowResult;

Status checkPyramidParameters(const PyramidParameters& parameters);

/// The definition. Slow: use it for small images.
void pyramidReference(const PyramidParameters& parameters, const PyramidImages& images, const PyramidResult& result);

class Pyramid : public WindowMatcher {
 public:
  /// Opens it for one size. @param wantsRight results have a rightDisparity; otherwise none may
  static Status open(const PyramidParameters& parameters, int32_t width, int32_t height, bool wantsRight,
                     InstructionSet set, Workers& workers, Pyramid** opened);
};

}  // namespace depthwatt
