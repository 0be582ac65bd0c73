// SPDX-License-Identifier: Apache-2.0
// Filling as a stage: its settings and CPU adapter.
#include "fill_task.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    word(
        "refine.fill", "background bilateral off",
        "Fills pixels without a match; their confidence stays 0. background: as an occlusion, up to an edge of the image; bilateral: by grey value; off: only matched pixels have a disparity."),
    fraction("refine.fillThreshold", 16, true, 0, 16 * 2047, 16 * 6, "px",
             "Largest disparity difference between the two sides of a hole that a straight line bridges.")
        .length(),
};

class FillOnCpu final : public CpuStage {
 public:
  FillOnCpu(const StageTask& task, const CpuContext& cpu)
      : parameters_(fillParametersFrom(task)), workers_(cpu.workers) {}

  Status run(const StageImages& images) override {
    fillHoles(parameters_, images.matched.grey[0].asConst(), images.disparityIn.asConst(), images.disparityOut,
              images.confidenceOut, workers_);
    return {};
  }

 private:
  const FillParameters parameters_;
  Workers& workers_;
};

}  // namespace

const StageFacts& fillFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "fill";
    f.has(kSettings);
    f.writes = kWritesDisparity | kWritesConfidence;
    f.inPlace = kWritesConfidence;
    f.isOn = [](const EngineParameters& p) { return fillMethodFrom(p.at("refine.fill")) != FillMethod::kOff; };
    return f;
  }();
  return facts;
}

Status openFillOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<FillOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
