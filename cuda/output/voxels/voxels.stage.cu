// SPDX-License-Identifier: Apache-2.0
// Voxels as a stage: their CUDA adapter.
#include "../../device/gpu_stage.h"
#include "voxels_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

class VoxelsOnGpu final : public GpuStage {
 public:
  explicit VoxelsOnGpu(const StageTask& task) : p_(task.frame) {}

  Status open() { return voxels_.open(makeVoxelsPlan(p_.voxels, p_.width, p_.height), p_.width, p_.height); }
  Status run(const StageImages& images, cudaStream_t stream) override {
    return voxels_.compute(images.disparityIn.data, images.voxels, stream);
  }
  size_t bytes() const override { return voxels_.bytes(); }

 private:
  const EngineParameters& p_;
  VoxelsWorkspace voxels_;
};

}  // namespace

Status openVoxelsOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<VoxelsOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
