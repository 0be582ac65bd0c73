// SPDX-License-Identifier: Apache-2.0
// Local planes as a stage: their CUDA adapter.
#include "../../device/gpu_stage.h"
#include "slant_gpu.h"

namespace depthwatt {
namespace gpu {

Status openSlantOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t width = task.width, height = task.height;
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) {
    return slant(images.matched.grey[0].data, images.disparityIn.data, images.disparityOut.data, width, height, stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
