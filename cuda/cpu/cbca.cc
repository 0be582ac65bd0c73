// SPDX-License-Identifier: Apache-2.0
// The order of the cross-based matcher's steps, as in section III of the paper; see cbca.h.
#include "cbca.h"

#include <new>

#include "../match/half/half.h"
#include "../refine/fill/fill.h"
#include "../refine/left_right/left_right.h"

namespace depthwatt {

Cbca::Cbca(const CbcaParameters& p, int32_t width, int32_t height, const Kernels& kernels, Workers& workers)
    : p_(p),
      kernels_(kernels),
      workers_(workers),
      width_(p.halfResolution ? halfOf(width) : width),
      height_(p.halfResolution ? halfOf(height) : height) {
  const size_t pixels = static_cast<size_t>(width_) * height_;
  for (std::vector<int16_t>* image : {&disparity_, &rightDisparity_, &points_, &filled_}) image->resize(pixels);
  confidence_.resize(pixels);
  if (!p.halfResolution) return;
  left_.resize(pixels);
  right_.resize(pixels);
}

Status Cbca::open(const CbcaParameters& parameters, int32_t width, int32_t height, const Kernels& kernels, Workers& workers,
                  std::unique_ptr<Cbca>* opened) {
  CrossParameters cross;
  cross.minDisparity = parameters.minDisparity;
  cross.numDisparities = parameters.numDisparities;
  if (parameters.halfResolution) {
    const int32_t end = halfOf(parameters.minDisparity + parameters.numDisparities);
    cross.minDisparity = parameters.minDisparity / 2;
    cross.numDisparities = end - cross.minDisparity;
  }
  cross.armX = parameters.armX();
  cross.armY = parameters.armY();
  try {
    std::unique_ptr<Cbca> cbca(new Cbca(parameters, width, height, kernels, workers));
    Cross* made = nullptr;
    const Status status = Cross::open(cross, cbca->width_, cbca->height_, kernels, workers, &made);
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
  ImageView<const uint8_t> eyes[2] = {left, right};
  if (p_.halfResolution) {
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      kernels_.half(left, view(left_), first, end);
      kernels_.half(right, view(right_), first, end);
    });
    eyes[0] = view(left_).asConst();
    eyes[1] = view(right_).asConst();
  }
  cross_->compute({eyes[0], eyes[1], view(disparity_), view(rightDisparity_)});

  // Ground control points: both eyes agree exactly (eq. 10).
  workers_.rows(height_, [&](int32_t first, int32_t end) {
    for (int32_t y = first; y < end; ++y) {
      const int16_t* whole = view(disparity_).row(y);
      for (int32_t x = 0; x < width_; ++x) {
        view(points_).row(y)[x] = static_cast<int16_t>(whole[x] == kInvalidDisparity ? whole[x] : 16 * whole[x]);
        view(confidence_).row(y)[x] = 255;
      }
    }
    LeftRightImages check{view(disparity_).asConst(), view(rightDisparity_).asConst(), view(points_), view(confidence_)};
    check.tolerance = 0;
    kernels_.leftRight(check, first, end);
  });
  const ImageView<int16_t> filled = p_.halfResolution ? view(filled_) : disparityQ4;
  workers_.rows(height_, [&](int32_t first, int32_t end) { kernels_.median(view(points_).asConst(), filled, first, end); });
  FillParameters fill;
  fill.method = FillMethod::kBilateral;
  fill.thresholdQ4 = kCbcaThresholdQ4;
  fillHoles(fill, eyes[0], filled, {}, workers_);
  workers_.rows(disparityQ4.height, [&](int32_t first, int32_t end) {
    if (p_.halfResolution) kernels_.upscale(kCbcaThresholdQ4, left, filled.asConst(), disparityQ4, first, end);
    const int32_t step = p_.halfResolution ? 2 : 1;
    for (int32_t y = first; y < end; ++y) {
      const uint8_t* points = view(confidence_).row(y / step);
      for (int32_t x = 0; x < confidence.width; ++x) confidence.row(y)[x] = points[x / step];
    }
  });
}

size_t Cbca::workspaceBytes() const {
  return left_.size() + right_.size() + confidence_.size() + cross_->workspaceBytes() +
         (disparity_.size() + rightDisparity_.size() + points_.size() + filled_.size()) * sizeof(int16_t);
}

}  // namespace depthwatt
