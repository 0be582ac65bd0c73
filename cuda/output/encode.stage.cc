// SPDX-License-Identifier: Apache-2.0
// Encoding for the wire as a stage: its CPU adapter.
#include "../stage.h"
#include "bodies.h"

namespace depthwatt {
namespace {

class EncodeOnCpu final : public CpuStage {
 public:
  EncodeOnCpu(const StageTask& task, const CpuContext& cpu)
      : disparity_(task.frame.encodeDisparity), workers_(cpu.workers) {}

  /// The two bodies are independent, so each is encoded on one thread.
  Status run(const StageImages& images) override {
    const int second = workers_.count() > 1 ? 1 : 0;
    workers_.each([&](int worker) {
      if (worker == 0 && images.depthBody.data != nullptr)
        encodeDepthBody(images.depthMillimetres.asConst(), images.depthBody);
      if (worker == second && images.disparityBody.data != nullptr)
        encodeDisparityBody(disparity_, images.disparityIn.asConst(), images.disparityBody);
    });
    return {};
  }

 private:
  const Encoding disparity_;
  Workers& workers_;
};

Status check(const EngineParameters& p) {
  if (p.encodeDepth != Encoding::kRaw) return {};
  return Status::error(Code::kParameter, "Expected no encoding or rvl for depth: raw depth needs no encoding.");
}

}  // namespace

const StageFacts& encodeFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "encode";
    f.isOn = [](const EngineParameters& p) {
      return p.encodeDepth != Encoding::kNone || p.encodeDisparity != Encoding::kNone;
    };
    f.check = check;
    f.reads = f.leaves = Scale::kWhole;
    return f;
  }();
  return facts;
}

Status openEncodeOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<EncodeOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
