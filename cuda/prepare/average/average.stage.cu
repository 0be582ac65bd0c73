// SPDX-License-Identifier: Apache-2.0
// The average over time as a stage: its CUDA adapter. The limit is a number in device memory, so that a captured frame keeps its
// kernels.
#include "../../device/device_buffer.h"
#include "../../device/gpu_stage.h"
#include "average_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

class AverageOnGpu final : public GpuStage {
 public:
  explicit AverageOnGpu(const StageTask& task)
      : width_(task.width), height_(task.height),
        repetitions_(task.frame.repeatedStage == kAverageStage ? task.frame.repetitions : 1) {}

  Status open() {
    DEPTHWATT_TRY(limit_.allocate(1));
    DEPTHWATT_TRY(before_.allocate(2 * pixels()));
    DEPTHWATT_TRY(after_.allocate(2 * pixels()));
    bool requeue = false;
    DEPTHWATT_TRY(adapt(Adaptation(), nullptr, nullptr, &requeue));
    DEPTHWATT_TRY(forget(nullptr));
    return cudaStatus(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  Status run(const StageImages& images, cudaStream_t stream) override {
    // A repeated stage starts each run from the state before the frame, so that the result stays the same.
    if (runs_++ % repetitions_ == 0) {
      DEPTHWATT_CUDA(cudaMemcpyAsync(before_.get(), after_.get(), before_.bytes(), cudaMemcpyDeviceToDevice, stream));
    }
    const auto side = [&](int which) {
      return AverageSide{images.matched.grey[which].data, images.denoisedGrey[which].data,
                         before_.get() + which * pixels(), after_.get() + which * pixels(),
                         images.matcherGrey[which].data};
    };
    return average(side(0), side(1), limit_.get(), width_, height_, stream);
  }
  Status adapt(const Adaptation& adaptation, const int32_t*, const int32_t*, bool*) override {
    const int32_t limit = averageLimit(adaptation.smoothRange);
    return cudaStatus(cudaMemcpy(limit_.get(), &limit, sizeof limit, cudaMemcpyHostToDevice), "copy of the limit");
  }
  Status forget(cudaStream_t stream) override {
    return cudaStatus(cudaMemsetAsync(after_.get(), 0, after_.bytes(), stream), "state of the average");
  }
  size_t bytes() const override { return limit_.bytes() + before_.bytes() + after_.bytes(); }

 private:
  size_t pixels() const { return static_cast<size_t>(width_) * static_cast<size_t>(height_); }

  const int32_t width_, height_, repetitions_;
  DeviceBuffer<int32_t> limit_;
  DeviceBuffer<int16_t> before_, after_;  ///< each holds both images
  int32_t runs_ = 0;
};

}  // namespace

Status openAverageOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<AverageOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
