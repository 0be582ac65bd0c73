// SPDX-License-Identifier: Apache-2.0
// The median as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "median_gpu.h"

namespace depthwatt {
namespace gpu {

Status openMedianOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t width = task.width, height = task.height;
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) {
    return median(images.disparityIn.data, images.disparityOut.data, width, height, stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
