// SPDX-License-Identifier: Apache-2.0
// Half resolution as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "half_gpu.h"

namespace depthwatt {
namespace gpu {

Status openHalfOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t width = task.window.width, height = task.window.height;
  const bool colours[2] = {needsRgb(task.frame, 0), needsRgb(task.frame, 1)};
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) -> Status {
    for (int side = 0; side < 2; ++side) {
      if (colours[side])
        DEPTHWATT_TRY(halfRgb(images.window.rgb[side].data, images.matched.rgb[side].data, width, height, stream));
    }
    return half(images.window.grey[0].data, images.window.grey[1].data, images.matched.grey[0].data,
                images.matched.grey[1].data, width, height, stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
