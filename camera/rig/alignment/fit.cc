// SPDX-License-Identifier: Apache-2.0
// Fits the rows of features; see fit.h.
#include "fit.h"

#include <algorithm>
#include <cmath>

namespace depthwatt {
namespace {

constexpr double kNearPixels = 0.75;  ///< a feature this close to the first line supports it
constexpr int32_t kLines = 200, kRounds = 6;

/// Solves a symmetric positive definite system by Cholesky's method. Returns false if it is not positive definite.
bool solveSystem(double a[kAlignmentTerms][kAlignmentTerms], double b[kAlignmentTerms], double* x) {
  double l[kAlignmentTerms][kAlignmentTerms] = {};
  for (int i = 0; i < kAlignmentTerms; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = a[j][i];
      for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      if (i == j && !(sum > 0)) return false;
      l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
    }
  }
  for (int i = 0; i < kAlignmentTerms; ++i) {
    x[i] = b[i];
    for (int k = 0; k < i; ++k) x[i] -= l[i][k] * x[k];
    x[i] /= l[i][i];
  }
  for (int i = kAlignmentTerms - 1; i >= 0; --i) {
    for (int k = i + 1; k < kAlignmentTerms; ++k) x[i] -= l[k][i] * x[k];
    x[i] /= l[i][i];
  }
  return true;
}

}  // namespace

AlignmentFit::AlignmentFit(size_t maxFeatures) {
  rows_.reserve(maxFeatures);
  sorted_.reserve(maxFeatures);
}

double AlignmentFit::residual(const Row& row) const {
  double left = row.target;
  for (int i = 0; i < kAlignmentTerms; ++i) left -= parameters_[i] * row.terms[i];
  return left;
}

/// Finds the line with the most features near it, among many through three features. The choice of features is fixed,
/// not random.
void AlignmentFit::begin() {
  uint32_t state = 12345;
  const auto count = static_cast<uint32_t>(rows_.size());
  const auto any = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  const double near = kNearPixels / focal_;
  int32_t largest = -1;
  double best[3] = {};
  for (int32_t line = 0; line < kLines; ++line) {
    const Row *a = &rows_[any() % count], *b = &rows_[any() % count], *c = &rows_[any() % count];
    // terms[1] = u, terms[2] = v.
    const double bu = b->terms[1] - a->terms[1], bv = b->terms[2] - a->terms[2], cu = c->terms[1] - a->terms[1];
    const double cv = c->terms[2] - a->terms[2], area = bu * cv - bv * cu;
    if (std::fabs(area) < 0.01) continue;
    const double bt = b->target - a->target, ct = c->target - a->target;
    const double slopeU = (bt * cv - ct * bv) / area, slopeV = (bu * ct - cu * bt) / area;
    // No camera that still gives depth is rotated this far.
    if (std::fabs(slopeU) > 0.2 || std::fabs(slopeV) > 0.2) continue;
    const double offset = a->target - slopeU * a->terms[1] - slopeV * a->terms[2];
    int32_t supported = 0;
    for (const Row& row : rows_) {
      supported += std::fabs(row.target - offset - slopeU * row.terms[1] - slopeV * row.terms[2]) < near ? 1 : 0;
    }
    if (supported <= largest) continue;
    largest = supported;
    best[0] = offset, best[1] = slopeU, best[2] = slopeV;
  }
  std::fill_n(parameters_, kAlignmentTerms, 0.0);
  parameters_[0] = -best[0];
  parameters_[1] = best[1];
  parameters_[2] = best[2];
}

void AlignmentFit::reweigh(double scale) {
  for (Row& row : rows_) {
    const double ratio = residual(row) / scale, inside = 1 - ratio * ratio;
    row.weight = inside > 0 ? inside * inside : 0;
  }
}

void AlignmentFit::solve() {
  double a[kAlignmentTerms][kAlignmentTerms] = {}, b[kAlignmentTerms] = {};
  for (const Row& row : rows_) {
    for (int i = 0; i < kAlignmentTerms; ++i) {
      for (int j = i; j < kAlignmentTerms; ++j) a[i][j] += row.weight * row.terms[i] * row.terms[j];
      b[i] += row.weight * row.terms[i] * row.target;
    }
  }
  const double deviation = kFeatureRowDeviation / focal_;
  for (int i = 0; i < kAlignmentTerms; ++i) {
    const double share = deviation / kAlignmentPriors[i];
    a[i][i] += share * share;
  }
  double found[kAlignmentTerms];
  if (solveSystem(a, b, found)) std::copy_n(found, kAlignmentTerms, parameters_);
}

AlignmentSums AlignmentFit::fit(const AlignmentView& view, const std::vector<Feature>& features) {
  AlignmentSums sums;
  rows_.clear();
  focal_ = view.focalPixels;
  for (const Feature& feature : features) {
    const double u = (feature.rightX - view.cx) / focal_, v = (feature.rightY - view.cy) / focal_;
    const double disparity = feature.leftX - feature.rightX, q = disparity / focal_;
    rows_.push_back({{-(1 + v * v), u, v, u * v, q, v * q}, (feature.rightY - feature.leftY) / focal_, 1, disparity});
  }
  if (rows_.size() < 8) return sums;
  begin();
  double scale = 2 * kNearPixels / focal_;
  for (int32_t round = 0; round < kRounds; ++round) {
    reweigh(scale);
    solve();
    // 1.48 times the median distance of features near the fit is their standard deviation.
    sorted_.clear();
    for (const Row& row : rows_) {
      const double distance = std::fabs(residual(row));
      if (distance < 2 * kNearPixels / focal_) sorted_.push_back(distance);
    }
    if (sorted_.size() < 8) return sums;
    std::nth_element(sorted_.begin(), sorted_.begin() + static_cast<ptrdiff_t>(sorted_.size() / 2), sorted_.end());
    scale = std::max(0.2 / focal_, 4.685 * 1.4826 * sorted_[sorted_.size() / 2]);
  }
  reweigh(scale);
  sorted_.clear();
  for (const Row& row : rows_) {
    if (!(row.weight > 0)) continue;
    for (int i = 0; i < kAlignmentTerms; ++i) {
      for (int j = i; j < kAlignmentTerms; ++j) sums.products[i][j] += row.weight * row.terms[i] * row.terms[j];
      sums.targets[i] += row.weight * row.terms[i] * row.target;
    }
    const double left = residual(row);
    sums.squares += row.weight * left * left;
    sums.weight += row.weight;
    sorted_.push_back(row.disparity);
  }
  sums.kept = static_cast<int32_t>(sorted_.size());
  if (sums.kept == 0) return sums;
  std::sort(sorted_.begin(), sorted_.end());
  sums.medianDisparity = sorted_[sorted_.size() / 2];
  sums.smallestDisparity = sorted_[sorted_.size() / 20];
  sorted_.clear();
  for (const Row& row : rows_) {
    if (!(row.weight > 0)) continue;
    const double rows = focal_ * (row.target - residual(row));
    sums.meanRows += rows / sums.kept;
    sorted_.push_back(std::fabs(rows));
  }
  std::sort(sorted_.begin(), sorted_.end());
  sums.p95Rows = sorted_[(sorted_.size() - 1) * 95 / 100];
  return sums;
}

}  // namespace depthwatt
