// SPDX-License-Identifier: Apache-2.0
// Confidence of a matched disparity: from the matcher's certainty of it and of the pixels that agree with it, from the
// holes around it, and from the texture.
//   support(x, y)    sum over the 5 x 5 pixels q around (x, y) of certainty(q) where |d(q) - d(x, y)| <= 16 (one pixel); 0 to 6375
//   unmatched(x, y)  how many of the 11 x 11 pixels around were not matched; 0 to 121
//   step(q)          min(16, |I(q) - I(q left of it)|); texture(x, y): their sum over 5 x 5, 0 to 400; wide(x, y): over 11 x 11
//   score            supportScore[support >> 7] + unmatchedScore[unmatched >> 2] + textureScore[texture >> 4]
//   sure             curve[score clamped to -96..127], but at most 8 wide and at most limit(x / 8, y / 4), and at least 1; 0 where (x, y) was
//                    not matched
// The scores are 16 times the natural logarithm of the odds of being right, and curve(s) = 255 / (1 + exp(-s / 16)), at least 1.
// in   grey [height][width] uint8; disparityQ4 [height][width] int16, 1/16 px, at most 32736 or kInvalidDisparity; certainty
//      [height][width] uint8, the matcher's; zeroIsEstimated: a certainty of 0 means that the disparity was not matched; limit
//      [(height + 3) / 4][(width + 7) / 8] uint8, refine/ambiguity's, or empty for none
// out  sure [height][width] uint8, another image than certainty: 255 times the share of pixels that are right
// edge border pixels replicated.   not matched: an invalid disparity, and with zeroIsEstimated a certainty of 0; an invalid q supports
//      no pixel.   same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"
#include "../../blocks.h"

namespace depthwatt {

constexpr int32_t kSupportRadius = 2;
constexpr int32_t kAgreementQ4 = 16;
constexpr int32_t kWideRadius = 5;  ///< radius of unmatched and wide
constexpr int32_t kMaxStep = 16;
constexpr int32_t kSurePerStep = 8;
constexpr int32_t kSupportBits = 7, kUnmatchedBits = 2, kTextureBits = 4;

/// Measured scores, see README.md, for all sums without their lowest bits.
constexpr int32_t kSupportScores = (25 * 255 >> kSupportBits) + 1;
constexpr int32_t kUnmatchedScores = (121 >> kUnmatchedBits) + 1;
constexpr int32_t kTextureScores = (25 * kMaxStep >> kTextureBits) + 1;
#define DEPTHWATT_SUPPORT_SCORES                                                                                \
  {-96, 51, 51, 52, 52, 55, 55, 56, 56, 57, 57, 58, 59, 60, 60, 60, 62,  62,  62,  63,  64,  64,  65,  66,  68, \
   68,  69, 69, 70, 71, 73, 76, 78, 78, 80, 85, 87, 90, 93, 94, 96, 101, 105, 110, 115, 119, 120, 120, 120, 120}
#define DEPTHWATT_UNMATCHED_SCORES                                                 \
  {0,   -10, -13, -14, -16, -17, -18, -19, -20, -20, -22, -22, -22, -22, -23, -23, \
   -23, -23, -24, -25, -25, -26, -26, -26, -26, -26, -26, -26, -26, -26, -26}
#define DEPTHWATT_TEXTURE_SCORES                                    \
  {-12, -3,  0,   -1,  -2,  -5,  -9,  -13, -14, -18, -20, -22, -22, \
   -21, -21, -21, -20, -20, -19, -17, -10, -10, -8,  -5,  -3,  -1}
/// The curve, for scores from kLowestScore on.
constexpr int32_t kLowestScore = -96, kHighestScore = 127;
constexpr int32_t kCurvePoints = kHighestScore - kLowestScore + 1;
#define DEPTHWATT_CONFIDENCE_CURVE                                                                                    \
  {1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   2,   2,   2,   2,   2,   2,   2,   2,   2,   \
   3,   3,   3,   3,   3,   4,   4,   4,   4,   5,   5,   5,   6,   6,   6,   7,   7,   7,   8,   8,   9,   10,  10,  \
   11,  11,  12,  13,  14,  14,  15,  16,  17,  18,  19,  20,  22,  23,  24,  26,  27,  29,  30,  32,  34,  36,  38,  \
   40,  42,  44,  47,  49,  51,  54,  57,  60,  62,  65,  69,  72,  75,  78,  82,  85,  89,  93,  96,  100, 104, 108, \
   112, 116, 120, 124, 128, 131, 135, 139, 143, 147, 151, 155, 159, 162, 166, 170, 173, 177, 180, 183, 186, 190, 193, \
   195, 198, 201, 204, 206, 208, 211, 213, 215, 217, 219, 221, 223, 225, 226, 228, 229, 231, 232, 233, 235, 236, 237, \
   238, 239, 240, 241, 241, 242, 243, 244, 244, 245, 245, 246, 247, 247, 248, 248, 248, 249, 249, 249, 250, 250, 250, \
   251, 251, 251, 251, 252, 252, 252, 252, 252, 253, 253, 253, 253, 253, 253, 253, 253, 253, 254, 254, 254, 254, 254, \
   254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, \
   255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}

void confidenceReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                         ImageView<const uint8_t> certainty, bool zeroIsEstimated, ImageView<const uint8_t> limit,
                         ImageView<uint8_t> sure);

/// Computes rows [firstRow, endRow) of the result; reads the rows around them.
using ConfidenceRows = void (*)(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                                ImageView<const uint8_t> certainty, bool zeroIsEstimated,
                                ImageView<const uint8_t> limit, ImageView<uint8_t> sure, int32_t firstRow,
                                int32_t endRow);
struct ConfidenceKernels {
  ConfidenceRows confidence;
};

}  // namespace depthwatt
