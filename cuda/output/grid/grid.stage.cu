// SPDX-License-Identifier: Apache-2.0
// The grid as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "grid_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

class GridOnGpu final : public GpuStage {
 public:
  explicit GridOnGpu(const StageTask& task) : p_(task.frame) {}

  Status open() { return grid_.open(p_.grid, p_.width, p_.height); }
  Status run(const StageImages& images, cudaStream_t stream) override {
    return grid_.compute(images.disparityIn.data, images.confidenceIn.data, images.floor, images.grid, stream);
  }
  size_t bytes() const override { return grid_.bytes(); }

 private:
  const EngineParameters& p_;
  GridWorkspace grid_;
};

}  // namespace

Status openGridOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<GridOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
