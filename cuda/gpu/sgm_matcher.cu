// SPDX-License-Identifier: Apache-2.0
// Semi-global matching as a Matcher: the census of both images, then match/sgm with the left-right check in it.
#include <new>

#include "device_buffer.h"
#include "kernels.h"
#include "matcher.h"

namespace depthwatt {
namespace gpu {
namespace {

class SgmMatcher final : public Matcher {
 public:
  SgmMatcher(const EngineParameters& parameters, const MatchScope& scope)
      : cost_(parameters.cost), leftRight_(parameters.leftRight), width_(scope.width), height_(scope.height) {}

  Status open(const SgmParameters& match) {
    const size_t pixels = static_cast<size_t>(width_) * height_;
    for (DeviceBuffer<uint32_t>& census : census_) DEPTHWATT_TRY(census.allocate(pixels));
    DEPTHWATT_TRY(whole_.allocate(pixels));
    return sgm_.open(match, width_, height_);
  }

  Status census(const MatcherImages& images, cudaStream_t stream) override {
    if (cost_ == MatchingCost::kCensus) {
      return gpu::census(images.left, images.right, census_[0].get(), census_[1].get(), width_, height_, stream);
    }
    DEPTHWATT_TRY(gpu::gradientCensus(images.left, census_[0].get(), width_, height_, stream));
    return gpu::gradientCensus(images.right, census_[1].get(), width_, height_, stream);
  }

  Status match(const MatcherImages& images, const MatcherResult& result, cudaStream_t stream) override {
    return sgm_.compute(census_[0].get(), census_[1].get(), images.left, leftRight_, result.disparityQ4, whole_.get(),
                        nullptr, result.confidence, stream);
  }

  size_t bytes() const override { return census_[0].bytes() + census_[1].bytes() + whole_.bytes() + sgm_.bytes(); }

 private:
  const MatchingCost cost_;
  const bool leftRight_;
  const int32_t width_, height_;
  DeviceBuffer<uint32_t> census_[2];
  DeviceBuffer<int16_t> whole_;
  SgmWorkspace sgm_;
};

}  // namespace

Status openSgmMatcher(const EngineParameters& parameters, const MatchScope& scope, std::unique_ptr<Matcher>* matcher) {
  std::unique_ptr<SgmMatcher> opened(new (std::nothrow) SgmMatcher(parameters, scope));
  if (opened == nullptr) return Status::error(Code::kFailed, "Expected memory for a matcher, there is none.");
  const Status status = opened->open(scope.match);
  if (status.ok()) *matcher = std::move(opened);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
