// SPDX-License-Identifier: Apache-2.0
// The repair of outliers as a stage: its setting and CPU adapter.
#include "../../simd/kernels.h"
#include "../../stage.h"
#include "repair.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    flag("refine.repair", false,
         "Replaces outliers by the disparity of more reliable pixels on both sides within 10 px (Prehn 2007)."),
};

class RepairOnCpu final : public CpuStage {
 public:
  RepairOnCpu(const StageTask& task, const CpuContext& cpu)
      : height_(task.height), repair_(kernelsFor<RepairKernels>(cpu.instructionSet).repair), workers_(cpu.workers) {}

  /// Every pass reads the result of the previous one, so the passes alternate between the two pairs of images.
  Status run(const StageImages& images) override {
    static_assert(kRepairPasses == 3, "along the rows, along the columns, along the rows");
    const RepairedImages in = {images.disparityIn, images.confidenceIn};
    const RepairedImages out = {images.disparityOut, images.confidenceOut};
    pass(false, in, out);
    pass(true, out, in);
    pass(false, in, out);
    return {};
  }

 private:
  void pass(bool alongColumns, const RepairedImages& from, const RepairedImages& to) {
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      repair_(alongColumns, {from.disparityQ4.asConst(), from.sure.asConst()}, to, first, end);
    });
  }

  const int32_t height_;
  const RepairRows repair_;
  Workers& workers_;
};

}  // namespace

const StageFacts& repairFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "repair";
    f.has(kSettings);
    f.writes = kWritesDisparity | kWritesConfidence;
    f.clobbersInput = true;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.repair") != 0; };
    f.reach = 2 * kRepairReach;
    return f;
  }();
  return facts;
}

Status openRepairOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<RepairOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
