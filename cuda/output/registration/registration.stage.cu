// SPDX-License-Identifier: Apache-2.0
// Registration as a stage: its CUDA adapter.
#include "../../device/gpu_stage.h"
#include "registration_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

class RegistrationOnGpu final : public GpuStage {
 public:
  explicit RegistrationOnGpu(const StageTask& task) : p_(task.frame) {}

  Status open() {
    RegistrationPlan plan;
    DEPTHWATT_TRY(makeRegistrationPlan(p_.registration, p_.width, p_.height, &plan));
    return registration_.open(plan);
  }
  Status run(const StageImages& images, cudaStream_t stream) override {
    return registration_.compute(images.disparityIn.data, images.confidenceIn.data, p_.width, p_.height,
                                 images.registered.data, images.registeredConfidence.data, stream);
  }
  size_t bytes() const override { return registration_.bytes(); }

 private:
  const EngineParameters& p_;
  RegistrationWorkspace registration_;
};

}  // namespace

Status openRegistrationOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<RegistrationOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
