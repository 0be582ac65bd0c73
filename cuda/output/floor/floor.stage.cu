// SPDX-License-Identifier: Apache-2.0
// The floor as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "floor_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

class FloorOnGpu final : public GpuStage {
 public:
  explicit FloorOnGpu(const StageTask& task)
      : p_(task.frame), repetitions_(p_.repeatedStage == kFloorStage ? p_.repetitions : 1) {}

  Status open() { return floor_.open(makeFloorParameters(p_.floor, p_.width, p_.height), p_.width, p_.height); }
  Status run(const StageImages& images, cudaStream_t stream) override {
    // Each repetition of a measurement begins with the same memory.
    if (repetitions_ > 1) DEPTHWATT_TRY(runs_++ % repetitions_ == 0 ? floor_.keep(stream) : floor_.restore(stream));
    return floor_.compute(images.disparityIn.data, images.confidenceIn.data, images.floor, stream);
  }
  Status forget(cudaStream_t stream) override { return floor_.forget(stream); }
  size_t bytes() const override { return floor_.bytes(); }

 private:
  const EngineParameters& p_;
  const int32_t repetitions_;
  int32_t runs_ = 0;
  FloorWorkspace floor_;
};

}  // namespace

Status openFloorOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<FloorOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
