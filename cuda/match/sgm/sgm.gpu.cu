// SPDX-License-Identifier: Apache-2.0
// The matcher sgm on CUDA: the census of both images, then match/sgm, which includes the left-right check.
#include <new>

#include "../../device/device_buffer.h"
#include "../../refine/left_right/left_right_gpu.h"
#include "../cost/census/census_gpu.h"
#include "../cost/gradient_census/gradient_census_gpu.h"
#include "../cost/two_gradient_census/two_gradient_census_gpu.h"
#include "../cost/wide_census/wide_census_gpu.h"
#include "../mirror_gpu.h"
#include "../gpu_matcher.h"
#include "sgm.h"
#include "sgm_task.h"
#include "sgm_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

class SgmOnGpu final : public Matcher {
 public:
  explicit SgmOnGpu(const MatchTask& task)
      : cost_(matchingCostFrom(task)), leftRight_(task.leftRight), ownRightView_(hasOwnRightView(task)),
        width_(task.width), height_(task.height) {}

  Status open(const SgmParameters& parameters) {
    const size_t pixels = static_cast<size_t>(width_) * height_;
    for (DeviceBuffer<uint32_t>& census : census_) DEPTHWATT_TRY(census.allocate(pixels));
    for (DeviceBuffer<uint32_t>& more : more_) {
      if (parameters.words == 2) DEPTHWATT_TRY(more.allocate(pixels));
    }
    DEPTHWATT_TRY(whole_.allocate(pixels));
    if (ownRightView_) {
      DEPTHWATT_TRY(rightWhole_.allocate(pixels));
      for (DeviceBuffer<uint8_t>& image : mirrored_) DEPTHWATT_TRY(image.allocate(pixels));
    }
    return sgm_.open(parameters, width_, height_);
  }

  Status compute(const MatcherImages& images, const MatcherResult& result, cudaStream_t stream) override {
    if (!ownRightView_) return winners(images.left, images.right, leftRight_, result, stream);
    // Match the right view as the left one of the mirrored pair. The left view overwrites the result's images
    // afterwards.
    DEPTHWATT_TRY(mirrorColumns(images.right, mirrored_[0].get(), width_, height_, stream));
    DEPTHWATT_TRY(mirrorColumns(images.left, mirrored_[1].get(), width_, height_, stream));
    DEPTHWATT_TRY(winners(mirrored_[0].get(), mirrored_[1].get(), false, result, stream));
    DEPTHWATT_TRY(mirrorColumns(whole_.get(), rightWhole_.get(), width_, height_, stream));
    DEPTHWATT_TRY(winners(images.left, images.right, false, result, stream));
    return gpu::leftRight(whole_.get(), rightWhole_.get(), result.disparityQ4, result.confidence, 1, width_, height_,
                          stream);
  }

  size_t bytes() const override {
    return census_[0].bytes() + census_[1].bytes() + more_[0].bytes() + more_[1].bytes() + whole_.bytes() +
           rightWhole_.bytes() + mirrored_[0].bytes() + mirrored_[1].bytes() + sgm_.bytes();
  }

 private:
  Status winners(const uint8_t* left, const uint8_t* right, bool check, const MatcherResult& result,
                 cudaStream_t stream) {
    if (cost_ == MatchingCost::kWideCensus) {
      DEPTHWATT_TRY(gpu::wideCensus(left, right, census_[0].get(), more_[0].get(), census_[1].get(), more_[1].get(),
                                    width_, height_, stream));
    } else if (cost_ == MatchingCost::kTwoGradientCensus) {
      DEPTHWATT_TRY(gpu::twoGradientCensus(left, right, census_[0].get(), census_[1].get(), width_, height_, stream));
    } else if (cost_ == MatchingCost::kGradientCensus) {
      DEPTHWATT_TRY(gpu::gradientCensus(left, census_[0].get(), width_, height_, stream));
      DEPTHWATT_TRY(gpu::gradientCensus(right, census_[1].get(), width_, height_, stream));
    } else {
      DEPTHWATT_TRY(gpu::census(left, right, census_[0].get(), census_[1].get(), width_, height_, stream));
    }
    return sgm_.compute(census_[0].get(), census_[1].get(), left, check, result.disparityQ4, whole_.get(), nullptr,
                        result.confidence, stream, more_[0].get(), more_[1].get());
  }

  const MatchingCost cost_;
  const bool leftRight_, ownRightView_;
  const int32_t width_, height_;
  DeviceBuffer<uint32_t> census_[2], more_[2];
  DeviceBuffer<int16_t> whole_, rightWhole_;
  DeviceBuffer<uint8_t> mirrored_[2];
  SgmWorkspace sgm_;
};

}  // namespace

Status openSgmOnGpu(const MatchTask& task, std::unique_ptr<Matcher>* matcher) {
  if (searchesCoarseToFine(task) && task.search.numDisparities > kFullRange) {
    return Status::error(Code::kBackendUnavailable,
                         "CUDA unavailable: match.sgm.search coarseToFine has no kernels yet. Set it to full, or "
                         "engine.backend to cpu.");
  }
  std::unique_ptr<SgmOnGpu> opened(new (std::nothrow) SgmOnGpu(task));
  if (opened == nullptr) return Status::error(Code::kFailed, "Not enough memory for a matcher.");
  const Status status = opened->open(sgmParametersFrom(task));
  if (status.ok()) *matcher = std::move(opened);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
