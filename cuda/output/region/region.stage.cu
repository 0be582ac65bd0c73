// SPDX-License-Identifier: Apache-2.0
// The region of interest as a stage: its CUDA adapter, which places the window's results in images of the whole size.
#include "../../device/gpu_stage.h"
#include "region_gpu.h"

namespace depthwatt {
namespace gpu {

Status openRegionOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  const int32_t width = task.frame.width, height = task.frame.height;
  const Region window = task.window, region = task.frame.region;
  return launchStage(opened, [=](const StageImages& images, cudaStream_t stream) {
    return placeRegion(images.disparityIn.data, images.confidenceIn.data, window, region, images.disparityOut.data,
                       images.confidenceOut.data, width, height, stream);
  });
}

}  // namespace gpu
}  // namespace depthwatt
