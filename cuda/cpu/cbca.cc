// SPDX-License-Identifier: Apache-2.0
// The order of the cross-based matcher's steps, as in section III of the paper; see cbca.h.
#include "cbca.h"

#include <new>

#include "../refine/fill/fill.h"
#include "../refine/left_right/left_right.h"

namespace depthwatt {

Cbca::Cbca(int32_t width, int32_t height, const Kernels& kernels, Workers& workers)
    : kernels_(kernels), workers_(workers), width_(width), height_(height) {
  const size_t pixels = static_cast<size_t>(width) * height;
  for (std::vector<int16_t>* image : {&disparity_, &rightDisparity_, &points_}) image->resize(pixels);
}

Status Cbca::open(const CbcaParameters& parameters, int32_t width, int32_t height, const Kernels& kernels, Workers& workers,
                  std::unique_ptr<Cbca>* opened) {
  CrossParameters cross;
  cross.minDisparity = parameters.minDisparity;
  cross.numDisparities = parameters.numDisparities;
  cross.armX = cross.armY = parameters.arm();
  cross.similarity = parameters.similarity();
  try {
    std::unique_ptr<Cbca> cbca(new Cbca(width, height, kernels, workers));
    Cross* made = nullptr;
    const Status status = Cross::open(cross, width, height, kernels, workers, &made);
    cbca->cross_.reset(made);
    if (status.ok()) *opened = std::move(cbca);
    return status;
  } catch (const std::bad_alloc&) {
    return Status::error(Code::kFailed, "Expected memory for the cross-based matcher at %dx%d, the allocation failed.", width,
                         height);
  }
}

void Cbca::compute(ImageView<const uint8_t> left, ImageView<const uint8_t> right, ImageView<int16_t> disparityQ4,
                   ImageView<uint8_t> confidence) {
  cross_->compute({left, right, view(disparity_), view(rightDisparity_)});

  // Ground control points: both eyes agree exactly (eq. 10).
  workers_.rows(height_, [&](int32_t first, int32_t end) {
    for (int32_t y = first; y < end; ++y) {
      const int16_t* whole = view(disparity_).row(y);
      for (int32_t x = 0; x < width_; ++x) {
        view(points_).row(y)[x] = static_cast<int16_t>(whole[x] == kInvalidDisparity ? whole[x] : 16 * whole[x]);
        confidence.row(y)[x] = 255;
      }
    }
    LeftRightImages check{view(disparity_).asConst(), view(rightDisparity_).asConst(), view(points_), confidence};
    check.tolerance = 0;
    kernels_.leftRight(check, first, end);
  });
  workers_.rows(height_,
                [&](int32_t first, int32_t end) { kernels_.median(view(points_).asConst(), disparityQ4, first, end); });
  FillParameters fill;
  fill.method = FillMethod::kBilateral;
  fill.thresholdQ4 = kCbcaThresholdQ4;
  fillHoles(fill, left, disparityQ4, {}, workers_);
}

size_t Cbca::workspaceBytes() const {
  return (disparity_.size() + rightDisparity_.size() + points_.size()) * sizeof(int16_t) + cross_->workspaceBytes();
}

}  // namespace depthwatt
