// SPDX-License-Identifier: Apache-2.0
// Denoising as a stage: its CUDA adapter. The range is a number in device memory, so that a captured frame keeps its
// kernels; at 0 the images are copied.
#include "../../device/device_buffer.h"
#include "../../device/gpu_stage.h"
#include "denoise_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

class DenoiseOnGpu final : public GpuStage {
 public:
  explicit DenoiseOnGpu(const StageTask& task) : width_(task.width), height_(task.height) {}

  Status open() {
    DEPTHWATT_TRY(range_.allocate(1));
    bool requeue = false;
    return adapt(Adaptation(), nullptr, nullptr, &requeue);
  }
  Status run(const StageImages& images, cudaStream_t stream) override {
    return smooth(range_.get(), images.matched.grey[0].data, images.matched.grey[1].data, images.denoisedGrey[0].data,
                  images.denoisedGrey[1].data, width_, height_, stream);
  }
  Status adapt(const Adaptation& adaptation, const int32_t*, const int32_t*, bool*) override {
    return cudaStatus(cudaMemcpy(range_.get(), &adaptation.smoothRange, sizeof(int32_t), cudaMemcpyHostToDevice),
                      "copy of the range");
  }
  size_t bytes() const override { return range_.bytes(); }

 private:
  const int32_t width_, height_;
  DeviceBuffer<int32_t> range_;
};

}  // namespace

Status openDenoiseOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<DenoiseOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
