// SPDX-License-Identifier: Apache-2.0
// Estimates the alignment of a pair; see aligner.h.
#include "aligner.h"

#include <algorithm>
#include <cmath>

namespace depthwatt {
namespace {

constexpr int32_t kMaxSide = 16384;

int32_t reductionStep(const AlignerParameters& p) {
  return p.maxWidth <= 0 ? 1 : std::max(1, (p.width + p.maxWidth - 1) / p.maxWidth);
}

/// Returns the map of an image of 1 / step the size: each of its pixels is in the middle of step x step original ones.
std::vector<int32_t> coarser(const std::vector<int32_t>& map, int32_t width, int32_t step, int32_t outWidth,
                             int32_t outHeight) {
  std::vector<int32_t> result(2 * static_cast<size_t>(outWidth) * outHeight);
  const int32_t pixels = step * step;
  for (int32_t y = 0; y < outHeight; ++y) {
    for (int32_t x = 0; x < outWidth; ++x) {
      int64_t sums[2] = {};
      for (int32_t j = 0; j < step; ++j) {
        for (int32_t i = 0; i < step; ++i) {
          const int64_t column = x * step + i, row = y * step + j;
          for (int axis = 0; axis < 2; ++axis) {
            sums[axis] += map.empty() ? 32 * (axis == 0 ? column : row) : map[2 * (row * width + column) + axis];
          }
        }
      }
      int32_t* entry = result.data() + 2 * (static_cast<size_t>(y) * outWidth + x);
      for (int axis = 0; axis < 2; ++axis) entry[axis] = static_cast<int32_t>(sums[axis] / pixels);
    }
  }
  return result;
}

double meanContrast(ImageView<const uint8_t> image) {
  int64_t sum = 0, squares = 0, count = 0;
  for (int32_t y = 0; y < image.height; y += 4) {
    const uint8_t* row = image.row(y);
    for (int32_t x = 0; x < image.width; x += 4, ++count) sum += row[x], squares += row[x] * row[x];
  }
  const double mean = static_cast<double>(sum) / static_cast<double>(count);
  return std::sqrt(std::max(0.0, static_cast<double>(squares) / static_cast<double>(count) - mean * mean));
}

}  // namespace

Status Aligner::check(const AlignerParameters& p) {
  const auto fits = [](int32_t side) { return side >= 1 && side <= kMaxSide; };
  if (!fits(p.inputWidth) || !fits(p.inputHeight) || !fits(p.width) || !fits(p.height)) {
    return Status::error(Code::kParameter, "Expected images of 1 to %d pixels a side, got %dx%d and %dx%d rectified.",
                         kMaxSide, p.inputWidth, p.inputHeight, p.width, p.height);
  }
  if (sourceBytes(p.inputWidth, p.inputHeight, p.leftStrideBytes, p.leftFormat) == 0 ||
      sourceBytes(p.inputWidth, p.inputHeight, p.rightStrideBytes, p.rightFormat) == 0) {
    return Status::error(Code::kParameter, "Expected row strides that hold %d pixels, got %zu and %zu bytes.",
                         p.inputWidth, p.leftStrideBytes, p.rightStrideBytes);
  }
  const size_t values = 2 * static_cast<size_t>(p.width) * static_cast<size_t>(p.height);
  const bool none = p.leftMap.empty() && p.rightMap.empty();
  if (none ? p.width != p.inputWidth || p.height != p.inputHeight
           : p.leftMap.size() != values || p.rightMap.size() != values) {
    return Status::error(Code::kParameter, "Expected two maps of %dx%d, or none and images of that size.", p.width,
                         p.height);
  }
  if (!(p.view.focalPixels > 0)) {
    return Status::error(Code::kParameter, "Expected a focal length above 0, got %g px.", p.view.focalPixels);
  }
  return {};
}

Aligner::Aligner(const AlignerParameters& parameters, RectifyGrey rectify)
    : p_(parameters), rectify_(rectify), step_(reductionStep(parameters)),
      width_(std::max(1, parameters.width / step_)), height_(std::max(1, parameters.height / step_)),
      matcher_(width_, height_), fit_(static_cast<size_t>(width_) * height_ / 256 + 64) {
  if (step_ > 1 || !p_.leftMap.empty()) {
    maps_[0] = coarser(p_.leftMap, p_.width, step_, width_, height_);
    maps_[1] = coarser(p_.rightMap, p_.width, step_, width_, height_);
  }
  p_.leftMap = p_.rightMap = {};
  for (std::vector<uint8_t>& image : grey_) image.resize(static_cast<size_t>(width_) * height_);
}

size_t Aligner::inputBytes(int side) const {
  return sourceBytes(p_.inputWidth, p_.inputHeight, side == 0 ? p_.leftStrideBytes : p_.rightStrideBytes,
                     side == 0 ? p_.leftFormat : p_.rightFormat);
}

AlignmentLook Aligner::look(const uint8_t* left, const uint8_t* right) {
  const CapturedImage sources[2] = {{left, p_.inputWidth, p_.inputHeight, p_.leftStrideBytes, p_.leftFormat},
                                    {right, p_.inputWidth, p_.inputHeight, p_.rightStrideBytes, p_.rightFormat}};
  ImageView<const uint8_t> images[2];
  for (int side = 0; side < 2; ++side) {
    const ImageView<uint8_t> grey = packedView(grey_[side].data(), width_, height_);
    rectify_(sources[side], maps_[side].empty() ? nullptr : maps_[side].data(), grey);
    images[side] = grey.asConst();
  }
  AlignmentLook look;
  look.leftSharpness = edgeSharpness(images[0]);
  look.rightSharpness = edgeSharpness(images[1]);
  look.leftContrast = meanContrast(images[0]);
  look.rightContrast = meanContrast(images[1]);
  const FeatureSearch search{(p_.search.rows + step_ - 1) / step_, p_.search.minDisparity / step_ - 1,
                             p_.search.maxDisparity / step_ + 1};
  const std::vector<Feature>& features = matcher_.match(search, images[0], images[1]);
  look.leftCorners = matcher_.counts().leftCorners;
  look.rightCorners = matcher_.counts().rightCorners;
  look.features = static_cast<int32_t>(features.size());
  const auto coarse = [&](double at) { return (at + 0.5) / step_ - 0.5; };
  look.sums = fit_.fit({p_.view.focalPixels / step_, coarse(p_.view.cx), coarse(p_.view.cy)}, features);
  look.sums.medianDisparity *= step_;
  look.sums.smallestDisparity *= step_;
  look.sums.meanRows *= step_;
  look.sums.p95Rows *= step_;
  return look;
}

}  // namespace depthwatt
