// SPDX-License-Identifier: Apache-2.0
// The match stage on CUDA: the chosen matcher, or the disparity that pairs bring.
#include "../device/gpu_stage.h"
#include "foreign.h"
#include "gpu_matcher.h"
#include "match_task.h"

namespace depthwatt {
namespace gpu {
namespace {

class MatchOnGpu final : public GpuStage {
 public:
  explicit MatchOnGpu(const StageTask& task) : task_(matchTaskFrom(task)) {}

  Status open() {
    int multiprocessors = 0;
    DEPTHWATT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    chooseSearch(&task_, {"cuda", multiprocessors});
    return openMatcher(task_, &matcher_);
  }
  Status run(const StageImages& images, cudaStream_t stream) override {
    return matcher_->compute({images.matcherGrey[0].data, images.matcherGrey[1].data, images.matched.rgb[0].data,
                              images.matched.rgb[1].data},
                             {images.disparityOut.data, images.confidenceOut.data}, stream);
  }
  size_t bytes() const override { return matcher_->bytes(); }

 private:
  MatchTask task_;
  std::unique_ptr<Matcher> matcher_;
};

__global__ void __launch_bounds__(128)
    foreignKernel(ForeignMatch found, int16_t* disparityQ4, uint8_t* confidence, int width, int height) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t at = static_cast<size_t>(y) * width + x;
  found.read(x, y, disparityQ4 + at, confidence + at);
}

Status openForeign(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return launchStage(opened, [task](const StageImages& images, cudaStream_t stream) {
    const dim3 grid((task.width + 31) / 32, (task.height + 3) / 4);
    foreignKernel<<<grid, dim3(32, 4), 0, stream>>>(foreignMatch(images.captured[1], task), images.disparityOut.data,
                                                    images.confidenceOut.data, task.width, task.height);
    return launched("foreignKernel");
  });
}

}  // namespace

Status openMatchOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  if (bringsDisparity(task.frame)) return openForeign(task, opened);
  return openStage<MatchOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
