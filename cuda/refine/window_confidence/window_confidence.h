// SPDX-License-Identifier: Apache-2.0
// The confidence measures of Prehn 2007, section 5.3.2.2, for any matcher's disparities: each separately, and their
// product.
//   W               the 7 x 7 pixels around (x, y); r = floor((d + 8) / 16), the disparity in whole pixels
//   peak ratio      certainty(x, y): the matcher's winner against its second best, 255 (S2 - S) / S2
//   deviation       sum over W of |L(q) - floor((sum of L over W + 24) / 49)|
//   density         min(255, floor(8 deviation / 49)): 255 where grey values differ from their mean by 32 on average
//   difference      sum over W of |L(q) - R(q - r)|
//   score           255 - min(255, floor(8 difference / 49)): 0 where the two windows differ by 32 a pixel
//   matching score  floor(score density / 255)
//   product         floor(peak ratio matching score / 255)
// in   left, right [height][width] uint8; disparityQ4 [height][width] int16, 1/16 px, at most 32736 or kInvalidDisparity; certainty
//      [height][width] uint8; zeroIsEstimated: a certainty of 0 means that the disparity was not matched
// out  sure [height][width] uint8, another image than certainty: the measure, at least 1; 0 where (x, y) was not matched
// edge border pixels replicated, of both images.   same bits on every backend: integer only.
#pragma once

#include <cstring>

#include "../../../core/image.h"

namespace depthwatt {

enum class ConfidenceMeasure { kPeakRatio, kFeatureDensity, kMatchingScore, kProduct };

/// Finds a measure by name. Returns false if there is none.
inline bool findConfidenceMeasure(const char* name, ConfidenceMeasure* measure) {
  const char* const names[] = {"peakRatio", "featureDensity", "matchingScore", "product"};
  for (int32_t i = 0; i < 4; ++i) {
    if (std::strcmp(name, names[i]) != 0) continue;
    *measure = static_cast<ConfidenceMeasure>(i);
    return true;
  }
  return false;
}

constexpr int32_t kMeasureRadius = 3;
constexpr int32_t kMeasurePixels = 49;
constexpr int32_t kMeasureScale = 8;

struct WindowConfidenceImages {
  ImageView<const uint8_t> left, right;
  ImageView<const int16_t> disparityQ4;
  ImageView<const uint8_t> certainty;
  bool zeroIsEstimated;
};

void windowConfidenceReference(ConfidenceMeasure measure, const WindowConfidenceImages& images,
                               ImageView<uint8_t> sure);

/// Computes rows [firstRow, endRow) of the result; reads the rows around them.
using WindowConfidenceRows = void (*)(ConfidenceMeasure measure, const WindowConfidenceImages& images,
                                      ImageView<uint8_t> sure, int32_t firstRow, int32_t endRow);
struct WindowConfidenceKernels {
  WindowConfidenceRows windowConfidence;
};

}  // namespace depthwatt
