// SPDX-License-Identifier: Apache-2.0
// How the right camera is turned against where the calibration says it is, from the rows of features. To first order of the angles,
// with u = (x - cx) / f and v = (y - cy) / f of the right place and q = disparity / f:
//   (yRight - yLeft) / f = - pitch (1 + v^2) + roll u + scale v + yaw u v + baselineRoll q + baselineYaw v q
// pitch, yaw and roll turn the right camera about x (right), y (down) and z (ahead). scale: how much larger its image is. The last
// two say that the baseline points elsewhere, which is what is left where it is the left camera that has turned.
// A line through three features that suits the largest share of them begins; then weighted least squares, Tukey's weights, with
// a weak prior at 0 for what a flat scene, or one whose features lie in the middle, cannot tell.
#pragma once

#include <vector>

#include "features.h"

namespace depthwatt {

constexpr int kAlignmentTerms = 6;

struct AlignmentView {
  double focalPixels = 1, cx = 0, cy = 0;
};

/// Sums over the features that were kept: what is needed to join several pairs.
struct AlignmentSums {
  double products[kAlignmentTerms][kAlignmentTerms] = {};  ///< of the terms, weighted; the upper half is filled
  double targets[kAlignmentTerms] = {};                    ///< of the terms with (yRight - yLeft) / f
  double squares = 0;                                      ///< of what is left, weighted, in radians
  double weight = 0;
  int32_t kept = 0;              ///< features with a weight above 0
  double medianDisparity = 0;    ///< of these, pixels
  double smallestDisparity = 0;  ///< the fifth percentile of these
  double meanRows = 0;           ///< of what the fit says of the rows of these, pixels
  double p95Rows = 0;            ///< 95th percentile of the same without its sign
};

class AlignmentFit {
 public:
  explicit AlignmentFit(size_t maxFeatures);
  /// Fewer than 8 features: nothing is kept. No allocation.
  AlignmentSums fit(const AlignmentView& view, const std::vector<Feature>& features);

 private:
  struct Row {
    double terms[kAlignmentTerms], target, weight, disparity;
  };
  void begin();
  void reweigh(double scale);
  void solve();
  double residual(const Row& row) const;

  std::vector<Row> rows_;
  std::vector<double> sorted_;
  double parameters_[kAlignmentTerms] = {};
  double focal_ = 1;
};

/// The weak prior: standard deviations of the parameters in radians (of scale: a share), and that of a feature's row in pixels.
constexpr double kAlignmentPriors[kAlignmentTerms] = {0.1, 0.1, 0.02, 0.02, 0.01, 0.01};
constexpr double kFeatureRowDeviation = 0.25;

}  // namespace depthwatt
