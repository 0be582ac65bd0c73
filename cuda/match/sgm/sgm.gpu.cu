// SPDX-License-Identifier: Apache-2.0
// The matcher sgm on CUDA: the census of both images, then match/sgm, which includes the left-right check. A
// coarse-to-fine search does so at each level, the coarsest first.
#include <memory>
#include <new>
#include <vector>

#include "../../device/device_buffer.h"
#include "../../prepare/half/half_gpu.h"
#include "../../refine/left_right/left_right_gpu.h"
#include "../cost/census/census_gpu.h"
#include "../cost/gradient_census/gradient_census_gpu.h"
#include "../cost/two_gradient_census/two_gradient_census_gpu.h"
#include "../cost/wide_census/wide_census_gpu.h"
#include "../mirror_gpu.h"
#include "../gpu_matcher.h"
#include "guided_workspace.h"
#include "sgm_task.h"
#include "sgm_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

/// Computes the census of both images of a pair and owns its memory.
class CensusOnGpu {
 public:
  Status open(MatchingCost cost, int32_t width, int32_t height) {
    cost_ = cost, width_ = width, height_ = height;
    const size_t pixels = static_cast<size_t>(width) * height;
    for (DeviceBuffer<uint32_t>& words : words_) DEPTHWATT_TRY(words.allocate(pixels));
    for (DeviceBuffer<uint32_t>& more : more_) {
      if (cost == MatchingCost::kWideCensus) DEPTHWATT_TRY(more.allocate(pixels));
    }
    return {};
  }
  Status compute(const uint8_t* left, const uint8_t* right, cudaStream_t stream) {
    switch (cost_) {
      case MatchingCost::kWideCensus:
        return gpu::wideCensus(left, right, words(0), more(0), words(1), more(1), width_, height_, stream);
      case MatchingCost::kTwoGradientCensus:
        return gpu::twoGradientCensus(left, right, words(0), words(1), width_, height_, stream);
      case MatchingCost::kGradientCensus:
        DEPTHWATT_TRY(gpu::gradientCensus(left, words(0), width_, height_, stream));
        return gpu::gradientCensus(right, words(1), width_, height_, stream);
      case MatchingCost::kCensus: break;
    }
    return gpu::census(left, right, words(0), words(1), width_, height_, stream);
  }
  uint32_t* words(int side) const { return words_[side].get(); }
  uint32_t* more(int side) const { return more_[side].get(); }
  size_t bytes() const { return words_[0].bytes() + words_[1].bytes() + more_[0].bytes() + more_[1].bytes(); }

 private:
  MatchingCost cost_ = MatchingCost::kCensus;
  int32_t width_ = 0, height_ = 0;
  DeviceBuffer<uint32_t> words_[2], more_[2];
};

/// All levels of coarse-to-fine search.
class CoarseToFineOnGpu {
 public:
  Status open(const SgmParameters& parameters, MatchingCost cost, int32_t width, int32_t height) {
    DEPTHWATT_TRY(search_.open(parameters, width, height));
    levels_ = std::vector<Level>(static_cast<size_t>(search_.levels()));
    for (int i = 0; i < search_.levels(); ++i) {
      const int32_t w = search_.width(i), h = search_.height(i);
      DEPTHWATT_TRY(at(i).census.open(cost, w, h));
      for (DeviceBuffer<uint8_t>& image : at(i).halves) {
        if (i > 0) DEPTHWATT_TRY(image.allocate(static_cast<size_t>(w) * h));
      }
    }
    return {};
  }
  Status compute(const uint8_t* left, const uint8_t* right, const GuidedResult& result, cudaStream_t stream) {
    at(0).grey[0] = left, at(0).grey[1] = right;
    for (int i = 1; i < search_.levels(); ++i) {
      Level &finer = at(i - 1), &level = at(i);
      for (int side = 0; side < 2; ++side) level.grey[side] = level.halves[side].get();
      DEPTHWATT_TRY(gpu::half(finer.grey[0], finer.grey[1], level.halves[0].get(), level.halves[1].get(),
                              search_.width(i - 1), search_.height(i - 1), stream));
    }
    for (int i = search_.levels() - 1; i >= 0; --i) {
      Level& level = at(i);
      const CensusOnGpu& census = level.census;
      DEPTHWATT_TRY(level.census.compute(level.grey[0], level.grey[1], stream));
      DEPTHWATT_TRY(search_.compute(
          i, {census.words(0), census.words(1), census.more(0), census.more(1), level.grey[0]}, result, stream));
    }
    return {};
  }
  size_t bytes() const {
    size_t bytes = search_.bytes();
    for (const Level& level : levels_)
      bytes += level.census.bytes() + level.halves[0].bytes() + level.halves[1].bytes();
    return bytes;
  }

 private:
  struct Level {
    CensusOnGpu census;
    DeviceBuffer<uint8_t> halves[2];  ///< of coarse levels
    const uint8_t* grey[2] = {nullptr, nullptr};
  };
  Level& at(int i) { return levels_[static_cast<size_t>(i)]; }

  GuidedWorkspace search_;
  std::vector<Level> levels_;  ///< the finest first
};

class SgmOnGpu final : public Matcher {
 public:
  explicit SgmOnGpu(const MatchTask& task)
      : leftRight_(task.leftRight), ownRightView_(hasOwnRightView(task)), width_(task.width), height_(task.height),
        rank_(task.rank) {}

  Status open(const SgmParameters& parameters, MatchingCost cost, bool coarseToFine) {
    const size_t pixels = static_cast<size_t>(width_) * height_;
    DEPTHWATT_TRY(whole_.allocate(pixels));
    if (ownRightView_) {
      DEPTHWATT_TRY(rightWhole_.allocate(pixels));
      for (DeviceBuffer<uint8_t>& image : mirrored_) DEPTHWATT_TRY(image.allocate(pixels));
    }
    if (coarseToFine) {
      coarseToFine_.reset(new (std::nothrow) CoarseToFineOnGpu);
      if (coarseToFine_ == nullptr) return Status::error(Code::kFailed, "Not enough memory for a matcher.");
      return coarseToFine_->open(parameters, cost, width_, height_);
    }
    DEPTHWATT_TRY(census_.open(cost, width_, height_));
    SgmTuning tuning;
    DEPTHWATT_TRY(streamPriority(rank_, &tuning.priority));
    return sgm_.open(parameters, width_, height_, tuning);
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
    return whole_.bytes() + rightWhole_.bytes() + mirrored_[0].bytes() + mirrored_[1].bytes() +
           (coarseToFine_ ? coarseToFine_->bytes() : census_.bytes() + sgm_.bytes());
  }

 private:
  Status winners(const uint8_t* left, const uint8_t* right, bool check, const MatcherResult& result,
                 cudaStream_t stream) {
    if (coarseToFine_) {
      return coarseToFine_->compute(left, right, {check, result.disparityQ4, whole_.get(), result.confidence}, stream);
    }
    DEPTHWATT_TRY(census_.compute(left, right, stream));
    return sgm_.compute(census_.words(0), census_.words(1), left, check, result.disparityQ4, whole_.get(), nullptr,
                        result.confidence, stream, census_.more(0), census_.more(1));
  }

  const bool leftRight_, ownRightView_;
  const int32_t width_, height_, rank_;
  CensusOnGpu census_;
  DeviceBuffer<int16_t> whole_, rightWhole_;
  DeviceBuffer<uint8_t> mirrored_[2];
  SgmWorkspace sgm_;
  std::unique_ptr<CoarseToFineOnGpu> coarseToFine_;
};

}  // namespace

Status openSgmOnGpu(const MatchTask& task, std::unique_ptr<Matcher>* matcher) {
  const bool coarseToFine = searchesCoarseToFine(task) && task.search.numDisparities > kFullRange;
  std::unique_ptr<SgmOnGpu> opened(new (std::nothrow) SgmOnGpu(task));
  if (opened == nullptr) return Status::error(Code::kFailed, "Not enough memory for a matcher.");
  const Status status = opened->open(sgmParametersFrom(task), matchingCostFrom(task), coarseToFine);
  if (status.ok()) *matcher = std::move(opened);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
