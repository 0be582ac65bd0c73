// SPDX-License-Identifier: Apache-2.0
// Points as a stage: their CUDA adapter.
#include "../../device/gpu_stage.h"
#include "points_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

class PointsOnGpu final : public GpuStage {
 public:
  explicit PointsOnGpu(const StageTask& task) : p_(task.frame) {}

  Status open() { return points_.open(p_.points, p_.width, p_.height); }
  Status run(const StageImages& images, cudaStream_t stream) override {
    return points_.compute(images.disparityIn.data, images.whole.grey[0].data, images.whole.rgb[0].data, images.points,
                           stream);
  }
  size_t bytes() const override { return points_.bytes(); }

 private:
  const EngineParameters& p_;
  PointsWorkspace points_;
};

}  // namespace

Status openPointsOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<PointsOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
