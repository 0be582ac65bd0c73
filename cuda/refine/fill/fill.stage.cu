// SPDX-License-Identifier: Apache-2.0
// Filling as a stage: its CUDA adapter.
#include "../../device/device_buffer.h"
#include "../../device/gpu_stage.h"
#include "fill_gpu.h"
#include "fill_task.h"

namespace depthwatt {
namespace gpu {
namespace {

class FillOnGpu final : public GpuStage {
 public:
  explicit FillOnGpu(const StageTask& task)
      : parameters_(fillParametersFrom(task)), width_(task.width), height_(task.height) {}

  Status open() { return scratch_.allocate(static_cast<size_t>(width_ + 1) * height_); }
  Status run(const StageImages& images, cudaStream_t stream) override {
    return fill(parameters_, images.matched.grey[0].data, images.disparityIn.data, images.disparityOut.data,
                images.confidenceOut.data, scratch_.get(), width_, height_, stream);
  }
  size_t bytes() const override { return scratch_.bytes(); }

 private:
  const FillParameters parameters_;
  const int32_t width_, height_;
  DeviceBuffer<int32_t> scratch_;
};

}  // namespace

Status openFillOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<FillOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
