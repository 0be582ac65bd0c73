// SPDX-License-Identifier: Apache-2.0
// Prehn's confidence measures as a stage: the CUDA adapter.
#include "../../device/gpu_stage.h"
#include "window_confidence_gpu.h"
#include "window_confidence.h"

namespace depthwatt {
namespace gpu {

Status openWindowConfidenceOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t width = task.width, height = task.height;
  const ConfidenceMeasure measure = static_cast<ConfidenceMeasure>(task.at("refine.confidence") - 1);
  const bool estimates = task.frame.matcher.facts->estimates;
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) {
    return windowConfidence(measure, images.matched.grey[0].data, images.matched.grey[1].data, images.disparityIn.data,
                            images.confidenceIn.data, estimates, images.confidenceOut.data, width, height, stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
