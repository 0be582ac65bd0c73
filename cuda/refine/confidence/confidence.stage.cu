// SPDX-License-Identifier: Apache-2.0
// The confidence as a probability, as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "confidence_gpu.h"

namespace depthwatt {
namespace gpu {

Status openConfidenceOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t width = task.width, height = task.height;
  const bool estimates = task.frame.matcher.facts->estimates;
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) {
    return confidence(images.matched.grey[0].data, images.disparityIn.data, images.confidenceIn.data, estimates,
                      images.limit.data, images.confidenceOut.data, width, height, stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
