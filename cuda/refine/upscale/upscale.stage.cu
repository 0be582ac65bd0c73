// SPDX-License-Identifier: Apache-2.0
// Upscaling as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "upscale_gpu.h"

namespace depthwatt {
namespace gpu {

Status openUpscaleOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t width = task.window.width, height = task.window.height;
  const int32_t thresholdQ4 = task.at("refine.upscaleThreshold");
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) {
    return upscale(thresholdQ4, images.window.grey[0].data, images.disparityIn.data, images.confidenceIn.data,
                   images.disparityOut.data, images.confidenceOut.data, width, height, stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
