// SPDX-License-Identifier: Apache-2.0
// The threshold as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "threshold_gpu.h"
#include "threshold_limits.h"

namespace depthwatt {
namespace gpu {

Status openThresholdOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t pixels = task.frame.width * task.frame.height;
  const ThresholdLimits limits = thresholdLimitsFrom(thresholdParametersFrom(task.frame));
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) {
    return threshold(limits, images.disparityOut.data, images.confidenceOut.data, images.dropped, pixels, stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
