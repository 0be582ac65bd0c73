// SPDX-License-Identifier: Apache-2.0
// Matches corners and refines them; see features.h.
#include "features.h"

#include <algorithm>
#include <cmath>

namespace depthwatt {
namespace {

constexpr int32_t kTile[2] = {20, 10};
constexpr int32_t kPatch = 64;                ///< values of a patch, 8x8
constexpr double kPatchLength = 2048;         ///< Euclidean norm of a patch: products of two fit 32 bits
constexpr int32_t kWhole = 2048 * 2048;       ///< about the product of a patch with itself
constexpr int32_t kSimilar = kWhole / 5 * 4;  ///< least similarity: 0.8

int32_t tileCount(int32_t side, int32_t tile) { return std::max(0, (side - 2 * kCornerMargin + tile - 1) / tile); }

/// Normalises to mean 0 and length kPatchLength; all 0 for a patch without contrast.
void takePatch(ImageView<const uint8_t> image, const Corner& corner, int16_t* patch) {
  int32_t sum = 0, squares = 0;
  for (int32_t j = 0; j < 8; ++j) {
    const uint8_t* row = image.row(corner.y + j - 4) + corner.x - 4;
    for (int32_t i = 0; i < 8; ++i) {
      patch[8 * j + i] = row[i];
      sum += row[i];
      squares += row[i] * row[i];
    }
  }
  const double mean = sum / 64.0, length = std::sqrt(std::max(0.0, squares - sum * mean));
  const double scale = length > 0 ? kPatchLength / length : 0;
  for (int32_t i = 0; i < kPatch; ++i) patch[i] = static_cast<int16_t>((patch[i] - mean) * scale);
}

int32_t dotProduct(const int16_t* __restrict a, const int16_t* __restrict b) {
  int32_t sum = 0;
  for (int32_t i = 0; i < kPatch; ++i) sum += a[i] * b[i];
  return sum;
}

constexpr int32_t kRadius = 4, kSide = 2 * kRadius + 1, kArea = kSide * kSide;

/// Subtracts the mean. Returns the length.
float centre(float* values) {
  float sum = 0, squares = 0;
  for (int32_t i = 0; i < kArea; ++i) sum += values[i];
  for (int32_t i = 0; i < kArea; ++i) {
    values[i] -= sum / kArea;
    squares += values[i] * values[i];
  }
  return std::sqrt(squares);
}

void sample(ImageView<const uint8_t> image, float x, float y, float* values) {
  const auto left = static_cast<int32_t>(x), top = static_cast<int32_t>(y);
  const float fx = x - static_cast<float>(left), fy = y - static_cast<float>(top);
  const float w00 = (1 - fx) * (1 - fy), w10 = fx * (1 - fy), w01 = (1 - fx) * fy, w11 = fx * fy;
  for (int32_t j = 0; j < kSide; ++j) {
    const uint8_t* upper = image.row(top + j - kRadius) + left - kRadius;
    const uint8_t* lower = image.row(top + j + 1 - kRadius) + left - kRadius;
    for (int32_t i = 0; i < kSide; ++i) {
      values[kSide * j + i] = w00 * upper[i] + w10 * upper[i + 1] + w01 * lower[i] + w11 * lower[i + 1];
    }
  }
}

/// Refines the right place of the feature. Returns false if the patches do not agree.
bool refine(ImageView<const uint8_t> left, ImageView<const uint8_t> right, Feature& feature) {
  float wanted[kArea], slopeX[kArea], slopeY[kArea], sampled[kArea];
  const auto x = static_cast<int32_t>(feature.leftX), y = static_cast<int32_t>(feature.leftY);
  float a = 0, b = 0, c = 0;
  for (int32_t j = 0; j < kSide; ++j) {
    const uint8_t* above = left.row(y + j - kRadius - 1) + x - kRadius;
    const uint8_t* here = left.row(y + j - kRadius) + x - kRadius;
    const uint8_t* below = left.row(y + j - kRadius + 1) + x - kRadius;
    for (int32_t i = 0; i < kSide; ++i) {
      const int32_t at = kSide * j + i;
      wanted[at] = here[i];
      slopeX[at] = 0.5f * static_cast<float>(here[i + 1] - here[i - 1]);
      slopeY[at] = 0.5f * static_cast<float>(below[i] - above[i]);
    }
  }
  const float length = centre(wanted);
  // Gain and offset are projected out, so that only other differences move the patch.
  centre(slopeX);
  centre(slopeY);
  for (int32_t i = 0; i < kArea; ++i) {
    a += slopeX[i] * slopeX[i];
    b += slopeY[i] * slopeY[i];
    c += slopeX[i] * slopeY[i];
  }
  const float determinant = a * b - c * c;
  if (!(determinant > 1e-3f * a * b) || !(length > 0)) return false;
  const float startX = feature.rightX, startY = feature.rightY;
  constexpr int32_t kRounds = 10;
  constexpr float kFurthest = 2.5f, kSmallStep = 0.005f;
  for (int32_t round = 0; round < kRounds; ++round) {
    sample(right, feature.rightX, feature.rightY, sampled);
    const float gain = centre(sampled) / length;
    if (!(gain > 0)) return false;
    float dx = 0, dy = 0, product = 0;
    for (int32_t i = 0; i < kArea; ++i) {
      const float value = sampled[i] / gain, error = value - wanted[i];
      product += value * wanted[i];
      dx += slopeX[i] * error;
      dy += slopeY[i] * error;
    }
    feature.similarity = product / (length * length);
    const float stepX = (b * dx - c * dy) / determinant, stepY = (a * dy - c * dx) / determinant;
    feature.rightX -= stepX;
    feature.rightY -= stepY;
    if (!(std::fabs(feature.rightX - startX) < kFurthest && std::fabs(feature.rightY - startY) < kFurthest))
      return false;
    if (std::fabs(stepX) < kSmallStep && std::fabs(stepY) < kSmallStep) break;
  }
  return feature.similarity > 0.9f;
}

}  // namespace

FeatureMatcher::FeatureMatcher(int32_t width, int32_t height) : finder_(width) {
  for (int side = 0; side < 2; ++side) {
    const size_t corners = static_cast<size_t>(tileCount(width, kTile[side])) * tileCount(height, kTile[side]);
    corners_[side].resize(corners);
    patches_[side].resize(corners * kPatch);
  }
  firstOfRow_.resize(static_cast<size_t>(tileCount(height, kTile[1])) + 1);
  partnerOfLeft_.resize(corners_[0].size());
  bestOfRight_.resize(corners_[1].size());
  similarityOfRight_.resize(corners_[1].size());
  features_.reserve(corners_[0].size());
}

void FeatureMatcher::pairUp(const FeatureSearch& search) {
  const int32_t rowsOfTiles = static_cast<int32_t>(firstOfRow_.size()) - 1;
  for (int32_t i = 0, row = 0; row <= rowsOfTiles; ++row) {
    while (i < counts_.rightCorners && (corners_[1][i].y - kCornerMargin) / kTile[1] < row) ++i;
    firstOfRow_[row] = i;
  }
  std::fill_n(bestOfRight_.begin(), counts_.rightCorners, -1);
  std::fill_n(similarityOfRight_.begin(), counts_.rightCorners, 0);
  for (int32_t l = 0; l < counts_.leftCorners; ++l) {
    const Corner& left = corners_[0][l];
    const int16_t* patch = patches_[0].data() + static_cast<size_t>(l) * kPatch;
    partnerOfLeft_[l] = -1;
    const int32_t top = std::max(0, (left.y - search.rows - kCornerMargin) / kTile[1]);
    const int32_t end = std::min(rowsOfTiles, (left.y + search.rows - kCornerMargin) / kTile[1] + 1);
    if (end <= top) continue;
    int32_t best = 0, second = 0, found = -1;
    for (int32_t r = firstOfRow_[top]; r < firstOfRow_[end]; ++r) {
      const Corner& right = corners_[1][r];
      const int32_t disparity = left.x - right.x;
      if (right.y < left.y - search.rows || right.y > left.y + search.rows) continue;
      if (disparity < search.minDisparity || disparity > search.maxDisparity) continue;
      const int32_t product = dotProduct(patch, patches_[1].data() + static_cast<size_t>(r) * kPatch);
      if (product > similarityOfRight_[r]) similarityOfRight_[r] = product, bestOfRight_[r] = l;
      if (product > best) second = best, best = product, found = r;
      else second = std::max(second, product);
    }
    // Clearly better than the next: at most 0.8 of its distance from identity.
    if (best >= kSimilar && 5 * static_cast<int64_t>(kWhole - best) < 4 * static_cast<int64_t>(kWhole - second))
      partnerOfLeft_[l] = found;
  }
}

const std::vector<Feature>& FeatureMatcher::match(const FeatureSearch& search, ImageView<const uint8_t> left,
                                                  ImageView<const uint8_t> right) {
  const ImageView<const uint8_t> images[2] = {left, right};
  int32_t counts[2];
  for (int side = 0; side < 2; ++side) {
    counts[side] =
        finder_.find(images[side], kTile[side], corners_[side].data(), static_cast<int32_t>(corners_[side].size()));
    for (int32_t i = 0; i < counts[side]; ++i) {
      takePatch(images[side], corners_[side][i], patches_[side].data() + static_cast<size_t>(i) * kPatch);
    }
  }
  counts_ = {counts[0], counts[1]};
  features_.clear();
  pairUp(search);
  for (int32_t l = 0; l < counts_.leftCorners; ++l) {
    const int32_t r = partnerOfLeft_[l];
    if (r < 0 || bestOfRight_[r] != l) continue;
    Feature feature;
    feature.leftX = static_cast<float>(corners_[0][l].x);
    feature.leftY = static_cast<float>(corners_[0][l].y);
    feature.rightX = static_cast<float>(corners_[1][r].x);
    feature.rightY = static_cast<float>(corners_[1][r].y);
    if (refine(left, right, feature)) features_.push_back(feature);
  }
  return features_;
}

}  // namespace depthwatt
