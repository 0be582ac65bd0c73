// SPDX-License-Identifier: Apache-2.0
// Boundary sharpening as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "boundary_gpu.h"

namespace depthwatt {
namespace gpu {

Status openBoundaryOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t width = task.width, height = task.height;
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) {
    return boundary(images.matched.grey[0].data, images.disparityIn.data, images.disparityOut.data, width, height,
                    stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
