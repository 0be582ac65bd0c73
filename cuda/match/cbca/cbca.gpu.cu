// SPDX-License-Identifier: Apache-2.0
// The matcher cbca on CUDA: its adapter.
#include <new>

#include "../gpu_matcher.h"
#include "cbca_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

class CbcaOnGpu final : public Matcher {
 public:
  Status open(const MatchTask& task) {
    const CrossParameters p = crossParametersFrom(task);
    if (p.longestX() > kMaxArmOnCuda) {
      return Status::error(Code::kBackendUnavailable,
                           "CUDA unavailable: its kernels have arms of cbca of at most %d pixels, got armX %d.",
                           kMaxArmOnCuda, p.longestX());
    }
    CrossTuning tuning;
    DEPTHWATT_TRY(streamPriority(task.rank, &tuning.priority));
    return cbca_.open(p, cbcaThresholdQ4From(task), task.width, task.height, tuning);
  }

  Status compute(const MatcherImages& images, const MatcherResult& result, cudaStream_t stream) override {
    return cbca_.compute(images.left, images.right, result.disparityQ4, result.confidence, stream);
  }

  size_t bytes() const override { return cbca_.bytes(); }

 private:
  CbcaWorkspace cbca_;
};

}  // namespace

Status openCbcaOnGpu(const MatchTask& task, std::unique_ptr<Matcher>* matcher) {
  std::unique_ptr<CbcaOnGpu> opened(new (std::nothrow) CbcaOnGpu());
  if (opened == nullptr) return Status::error(Code::kFailed, "Not enough memory for a matcher.");
  const Status status = opened->open(task);
  if (status.ok()) *matcher = std::move(opened);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
