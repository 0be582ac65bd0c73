// SPDX-License-Identifier: Apache-2.0
// The confidence limit as a stage: its CUDA adapter.
#include "../../device/device_buffer.h"
#include "../../device/gpu_stage.h"
#include "ambiguity_gpu.h"
#include "../../blocks.h"

namespace depthwatt {
namespace gpu {
namespace {

class AmbiguityOnGpu final : public GpuStage {
 public:
  explicit AmbiguityOnGpu(const StageTask& task) : width_(task.width), height_(task.height) {}

  Status open() { return sums_.allocate(static_cast<size_t>(blockColumnCount(width_)) * blockRowCount(height_)); }
  Status run(const StageImages& images, cudaStream_t stream) override {
    return ambiguity(images.matched.grey[0].data, images.matched.grey[1].data, images.disparityIn.data, sums_.get(),
                     images.limit.data, width_, height_, stream);
  }
  size_t bytes() const override { return sums_.bytes(); }

 private:
  const int32_t width_, height_;
  DeviceBuffer<uint64_t> sums_;
};

}  // namespace

Status openAmbiguityOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<AmbiguityOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
