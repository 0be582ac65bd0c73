// SPDX-License-Identifier: Apache-2.0
// Registration as a stage: its setting and CPU adapter.
#include <algorithm>

#include "../../simd/kernels.h"
#include "../../stage.h"
#include "registration.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    flag("registration.fill", false,
         "Fills a pixel without depth of which 5 neighbours have one with the farthest of theirs; its confidence is 0.")
        .restart(),
};

Status check(const EngineParameters& p) {
  if (p.registers && !p.hasGeometry) {
    return Status::error(Code::kParameter, "Registration needs a geometry (focal length, baseline), got none.");
  }
  RegistrationPlan plan;
  return p.registers ? makeRegistrationPlan(p.registration, p.width, p.height, &plan) : Status();
}

class RegistrationOnCpu final : public CpuStage {
 public:
  RegistrationOnCpu(const StageTask& task, const CpuContext& cpu)
      : height_(task.frame.height), kernels_(kernelsFor<RegistrationKernels>(cpu.instructionSet)),
        workers_(cpu.workers) {
    makeRegistrationPlan(task.frame.registration, task.frame.width, task.frame.height, &plan_);
    buffer_.resize(bufferPixels(plan_));
    visible_.assign(bufferPixels(plan_), kNoDepth);
  }

  Status run(const StageImages& images) override {
    const size_t stride = static_cast<size_t>(plan_.outWidth) + 2;
    workers_.rows(plan_.outHeight + 2, [&](int32_t first, int32_t end) {
      std::fill(buffer_.data() + static_cast<size_t>(first) * stride,
                buffer_.data() + static_cast<size_t>(end) * stride, kNoDepth);
    });
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      kernels_.project(plan_, images.disparityIn.asConst(), images.confidenceIn.asConst(), buffer_.data(), first, end);
    });
    workers_.rows(plan_.outHeight, [&](int32_t first, int32_t end) {
      kernels_.resolve(plan_, buffer_.data(), visible_.data(), first, end);
    });
    workers_.rows(plan_.outHeight, [&](int32_t first, int32_t end) {
      kernels_.write(plan_, visible_.data(), images.registered, images.registeredConfidence, first, end);
    });
    return {};
  }

  size_t workspaceBytes() const override { return (buffer_.size() + visible_.size()) * sizeof(uint32_t); }

 private:
  const int32_t height_;
  const RegistrationKernels& kernels_;
  Workers& workers_;
  RegistrationPlan plan_;
  std::vector<uint32_t> buffer_, visible_;
};

}  // namespace

const StageFacts& registrationFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "registration";
    f.has(kSettings);
    f.isOn = [](const EngineParameters& p) { return p.registers; };
    f.check = check;
    f.reads = f.leaves = Scale::kWhole;
    return f;
  }();
  return facts;
}

Status openRegistrationOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<RegistrationOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
