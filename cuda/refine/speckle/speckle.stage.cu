// SPDX-License-Identifier: Apache-2.0
// The speckle filter as a stage: its CUDA adapter.
#include "../../device/device_buffer.h"
#include "../../device/gpu_stage.h"
#include "speckle_gpu.h"
#include "speckle_task.h"

namespace depthwatt {
namespace gpu {
namespace {

class SpeckleOnGpu final : public GpuStage {
 public:
  explicit SpeckleOnGpu(const StageTask& task)
      : parameters_(speckleParametersFrom(task)), width_(task.width), height_(task.height) {}

  Status open() { return scratch_.allocate(2 * static_cast<size_t>(width_) * height_); }
  Status run(const StageImages& images, cudaStream_t stream) override {
    return speckle(parameters_, images.disparityOut.data, images.confidenceOut.data, scratch_.get(), width_, height_,
                   stream);
  }
  size_t bytes() const override { return scratch_.bytes(); }

 private:
  const SpeckleParameters parameters_;
  const int32_t width_, height_;
  DeviceBuffer<int32_t> scratch_;
};

}  // namespace

Status openSpeckleOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<SpeckleOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
