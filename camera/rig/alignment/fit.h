// SPDX-License-Identifier: Apache-2.0
// Fits the rotation of the right camera against its calibration to the rows of features. To first order of the angles,
// with u = (x - cx) / f and v = (y - cy) / f of the right place and q = disparity / f:
//   (yRight - yLeft) / f = - pitch (1 + v^2) + roll u + scale v + yaw u v + baselineRoll q + baselineYaw v q
// pitch, yaw and roll rotate the right camera about x (right), y (down) and z (ahead). scale: how much larger its image
// is. The last two rotate the baseline, as a rotation of the left camera does. A line through three features that suits
// the largest share of them is the start; then weighted least squares with Tukey's weights and a weak prior at 0, for
// what a flat scene or features only in the middle cannot determine.
#pragma once

#include <vector>

#include "features.h"

namespace depthwatt {

constexpr int kAlignmentTerms = 6;

struct AlignmentView {
  double focalPixels = 1, cx = 0, cy = 0;
};

/// Sums over the features with a weight, which can be added over several pairs.
struct AlignmentSums {
  double products[kAlignmentTerms][kAlignmentTerms] =
      {};                                ///< products of the terms, weighted; the upper half is filled
  double targets[kAlignmentTerms] = {};  ///< products of the terms with (yRight - yLeft) / f
  double squares = 0;                    ///< squared residuals, weighted, in radians
  double weight = 0;
  int32_t kept = 0;              ///< features with a weight above 0
  double medianDisparity = 0;    ///< of these features, pixels
  double smallestDisparity = 0;  ///< the fifth percentile of these features
  double meanRows = 0;           ///< mean rows of the fit at these features, pixels
  double p95Rows = 0;            ///< 95th percentile of their absolute values
};

class AlignmentFit {
 public:
  explicit AlignmentFit(size_t maxFeatures);
  /// With fewer than 8 features, returns kept = 0. Does not allocate.
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

/// The weak prior: standard deviations of the parameters in radians (of scale: a ratio), and that of a feature's row in
/// pixels.
constexpr double kAlignmentPriors[kAlignmentTerms] = {0.1, 0.1, 0.02, 0.02, 0.01, 0.01};
constexpr double kFeatureRowDeviation = 0.25;

}  // namespace depthwatt
