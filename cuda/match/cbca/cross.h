// SPDX-License-Identifier: Apache-2.0
// Cross-based aggregation: matching costs summed over regions of similar grey, winners of both images from one definition of cost.
//   cost   C(x, y, d) = A[|L(x, y) - R(x - d, y)|] + M[hamming(m_L(x, y), m_R(x - d, y))]         (Chang and Maruyama, eq. 3 to 5)
//          A, M: exponential_tables.h, by lambdaDifference, differenceScale and lambdaCensus. m: six bits s(I(x + i, y + j), I(x, y)), i = -1, 1 and j = -1, 0, 1, s(u, v) = u >= v.
//          R(x - d, y) outside the image: kMaxCrossCost. The right image's cost is the same: C_R(x, y, d) = C(x + d, y, d) (eq. 6).
//   arms   left, right, up, down: how many pixels in a row from (x, y) on have |I - I(x, y)| < similarity; at most armX, armY,
//          never beyond the image; the right image's at most armXRight, armYRight.
//   sums   CAx(x, y, d) = sum of C over x - left..x + right (eq. 7); CA = sum of CAx over y - up..y + down (eq. 8), each pixel
//          with its own arms: those of the left image for left winners, of the right image for right winners.
//   winner the lowest d of the smallest CA over d in [min, min + num) whose partner is in the image (eq. 9 meaning argmin)
// in   left, right [height][width] uint8
// out  disparity, rightDisparity [height][width] int16, whole pixels; kInvalidDisparity = no candidate
// edge replicated pixels in the mini-census.       ties: the lowest d.       same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"
#include "../../../core/status.h"
#include "../../../core/workers.h"
#include "../../simd/instruction_set.h"
#include "exponential_tables.h"

namespace depthwatt {

constexpr int32_t kMaxCrossCost = 254;
constexpr int32_t kMaxArmX = 141, kMaxArmY = 61;
/// The longest arm on CUDA, where sums along a row have 16 bits and keys hold regions of 123 x 123.
constexpr int32_t kMaxArmOnCuda = 61;
/// The largest region between arms of all four lengths, in pixels: a key holds a sum below 2^23 and an index of 9 bits.
constexpr int32_t kMaxRegion = ((1 << 23) - 1) / kMaxCrossCost;
/// Disparities that the fast form aggregates together.
constexpr int32_t kCrossLanes = 16;

struct CrossParameters {
  int32_t minDisparity = 0;                ///< 0 or more
  int32_t numDisparities = 64;             ///< 1 to 512
  int32_t armX = 21, armY = 31;            ///< 0 to kMaxArmX, 0 to kMaxArmY; a region of at most kMaxRegion pixels
  int32_t similarity = 13;                 ///< 1 to 256
  int32_t armXRight = -1, armYRight = -1;  ///< the right image's; -1: the left image's
  int32_t lambdaDifference = kLambdaDifference, lambdaCensus = kLambdaCensus;  ///< kLeastLambda to kMaxLambda
  int32_t differenceScale = kFullScale;  ///< of lambdaDifference: kFullScale or kGreyLevel

  /// @param side 0 left, 1 right
  int32_t sideArmX(int side) const { return side == 0 || armXRight < 0 ? armX : armXRight; }
  int32_t sideArmY(int side) const { return side == 0 || armYRight < 0 ? armY : armYRight; }
  int32_t longestX() const { return sideArmX(1) > armX ? sideArmX(1) : armX; }
  int32_t longestY() const { return sideArmY(1) > armY ? sideArmY(1) : armY; }
};

struct CrossImages {
  ImageView<const uint8_t> left, right;
  ImageView<int16_t> disparity, rightDisparity;
};

/// A key orders sums, then indices, as a signed number: (CA << 9 | index) ^ kKeyBias.
constexpr int32_t kKeyBias = -2147483647 - 1;

Status checkCrossParameters(const CrossParameters& parameters);

/// The definition: adds up every sum separately. Slow: use it for small images.
void crossReference(const CrossParameters& parameters, const CrossImages& images);

/// Lengths of a pixel's arms.
struct CrossArms {
  uint8_t left, right, up, down;
};

/// kCrossLanes disparities of one image: the input and output of an instruction set's kernel.
struct CrossSlice {
  ImageView<const uint8_t> own, other;              ///< grey
  ImageView<const uint8_t> ownCensus, otherCensus;  ///< mini-census
  const CrossArms* arms;                            ///< [height][width]
  int32_t direction;                                ///< -1: the partner of x is x - d; 1: x + d
  int32_t firstDisparity;                           ///< disparity of lane 0, absolute
  int32_t firstIndex;                               ///< index of lane 0, from the smallest disparity of the search
  int32_t count;                                    ///< lanes in use
  int32_t armY;                                     ///< longest vertical arm of this image
  const CrossCosts* costs;
  int32_t* prefix;   ///< (width + 1) * kCrossLanes
  int32_t* columns;  ///< (2 armY + 2) * width * kCrossLanes
  int32_t* best;     ///< [height][width]: smallest key so far
};
/// The table of one instruction set.
struct CbcaKernels {
  void (*slice)(const CrossSlice& slice);
};

/// The fast form. It allocates its workspace at open, for one size, one set of parameters and one team.
class Cross {
 public:
  static Status open(const CrossParameters& parameters, int32_t width, int32_t height, InstructionSet set,
                     Workers& workers, Cross** opened);
  virtual ~Cross() = default;
  virtual void compute(const CrossImages& images) = 0;
  virtual size_t workspaceBytes() const = 0;
};

}  // namespace depthwatt
