// SPDX-License-Identifier: Apache-2.0
// Features of a rectified pair: corners, matched by their patches near the same row, then refined to a fraction of a pixel.
//   1. Corners of the left image, one per tile of 20 pixels; of the right one, one per tile of 10.
//   2. Patches of 8x8 around each, mean 0 and length 1. Of the corners within `rows` rows and the disparities, the most similar one
//      wins if it is similar enough, clearly more so than any other, and has no better partner.
//   3. The right place moves until both patches of 9x9 agree best (Lucas and Kanade 1981, inverse compositional: Baker and Matthews
//      2004), without gain and offset of the grey values.
// Floats, one IEEE operation each: identical results on every CPU. Nothing is allocated after the constructor.
#pragma once

#include <vector>

#include "corners.h"

namespace depthwatt {

struct FeatureSearch {
  int32_t rows = 8;  ///< searched above and below
  int32_t minDisparity = -16, maxDisparity = 128;
};

/// A place in both images, pixels.
struct Feature {
  float leftX = 0, leftY = 0, rightX = 0, rightY = 0;
  float similarity = 0;  ///< normalised cross-correlation of the refined patches
};

struct FeatureCounts {
  int32_t leftCorners = 0, rightCorners = 0;
};

class FeatureMatcher {
 public:
  FeatureMatcher(int32_t width, int32_t height);
  /// Returns the features, which stay valid until the next call.
  const std::vector<Feature>& match(const FeatureSearch& search, ImageView<const uint8_t> left,
                                    ImageView<const uint8_t> right);
  FeatureCounts counts() const { return counts_; }

 private:
  struct Partner;
  void pairUp(const FeatureSearch& search);

  CornerFinder finder_;
  std::vector<Corner> corners_[2];
  std::vector<int16_t> patches_[2];
  std::vector<int32_t> firstOfRow_;  ///< first right corner of each row of tiles
  std::vector<int32_t> partnerOfLeft_, bestOfRight_;
  std::vector<int32_t> similarityOfRight_;
  std::vector<Feature> features_;
  FeatureCounts counts_;
};

}  // namespace depthwatt
