// SPDX-License-Identifier: Apache-2.0
// The match stage on CUDA: the chosen matcher.
#include "../device/gpu_stage.h"
#include "gpu_matcher.h"
#include "match_task.h"

namespace depthwatt {
namespace gpu {
namespace {

class MatchOnGpu final : public GpuStage {
 public:
  explicit MatchOnGpu(const StageTask& task) : task_(matchTaskFrom(task)) {}

  Status open() { return openMatcher(task_, &matcher_); }
  Status run(const StageImages& images, cudaStream_t stream) override {
    return matcher_->compute({images.matcherGrey[0].data, images.matcherGrey[1].data, images.matched.rgb[0].data,
                              images.matched.rgb[1].data},
                             {images.disparityOut.data, images.confidenceOut.data}, stream);
  }
  size_t bytes() const override { return matcher_->bytes(); }

 private:
  const MatchTask task_;
  std::unique_ptr<Matcher> matcher_;
};

}  // namespace

Status openMatchOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<MatchOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
