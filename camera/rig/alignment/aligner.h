// SPDX-License-Identifier: Apache-2.0
// Estimates how the cameras of a captured pair are oriented: rectifies, at a reduced resolution for large images, finds
// features and fits them. The engine does not use it; both may run at the same time.
#pragma once

#include <string>
#include <vector>

#include "../../../core/image.h"
#include "../../../core/pixel_format.h"
#include "../../../core/status.h"
#include "fit.h"

namespace depthwatt {

/// One captured image.
struct CapturedImage {
  const uint8_t* data = nullptr;
  int32_t width = 0, height = 0;
  size_t strideBytes = 0;
  PixelFormat format = PixelFormat::kGrey;
};

/// Writes the rectified grey image; map as in cuda/rectify/rectify.h, nullptr if `out` has the size of the image. The
/// addon passes in the engine's kernel, because camera/ must not include cuda/.
using RectifyGrey = void (*)(const CapturedImage& image, const int32_t* map, ImageView<uint8_t> out);

struct AlignerParameters {
  int32_t inputWidth = 0, inputHeight = 0;
  int32_t width = 0, height = 0;  ///< rectified
  PixelFormat leftFormat = PixelFormat::kGrey, rightFormat = PixelFormat::kGrey;
  size_t leftStrideBytes = 0, rightStrideBytes = 0;
  std::vector<int32_t> leftMap,
      rightMap;          ///< for RectifyGrey; both empty: rectified already. Only the constructor reads them.
  AlignmentView view;    ///< of the rectified right image
  int32_t maxWidth = 0;  ///< wider images are reduced to a half, a third, ... of their size; 0: never
  FeatureSearch search;  ///< pixels of the rectified images
};

/// Lengths are in pixels of the rectified images.
struct AlignmentLook {
  int32_t leftCorners = 0, rightCorners = 0, features = 0;
  double leftSharpness = 0, rightSharpness = 0;  ///< corners.h
  double leftContrast = 0, rightContrast = 0;    ///< standard deviation of the grey values
  AlignmentSums sums;
};

class Aligner {
 public:
  /// Returns kParameter if sizes, strides and maps do not fit together.
  static Status check(const AlignerParameters& parameters);
  Aligner(const AlignerParameters& parameters, RectifyGrey rectify);
  /// Estimates one pair. Both images must hold inputBytes(). Does not allocate.
  AlignmentLook look(const uint8_t* left, const uint8_t* right);
  size_t inputBytes(int side) const;

 private:
  AlignerParameters p_;
  RectifyGrey rectify_;
  int32_t step_, width_, height_;  ///< of the reduced images
  std::vector<int32_t> maps_[2];
  std::vector<uint8_t> grey_[2];
  FeatureMatcher matcher_;
  AlignmentFit fit_;
};

}  // namespace depthwatt
