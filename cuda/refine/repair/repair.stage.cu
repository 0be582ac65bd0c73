// SPDX-License-Identifier: Apache-2.0
// The repair of outliers as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "repair_gpu.h"

namespace depthwatt {
namespace gpu {

Status openRepairOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t width = task.width, height = task.height;
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) {
    return repair(images.disparityIn.data, images.confidenceIn.data, images.disparityOut.data,
                  images.confidenceOut.data, width, height, stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
