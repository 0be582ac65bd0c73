// SPDX-License-Identifier: Apache-2.0
// Depth as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "depth_gpu.h"

namespace depthwatt {
namespace gpu {

Status openDepthOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t width = task.frame.width, height = task.frame.height;
  const DepthGeometry geometry = task.frame.geometry;
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) {
    return depthMillimetres(geometry, images.disparityIn.data, images.depthMillimetres.data, width, height, stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
