// SPDX-License-Identifier: Apache-2.0
// The speckle filter as a stage: its settings and CPU adapter.
#include <vector>

#include "speckle_task.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    wholeNumber(
        "refine.speckleSize", 0, 1000000, 60, "pixels",
        "Drops connected regions with fewer pixels than this. Raise it to remove more wrong matches, lower it to keep small objects. 0: off.")
        .area(),
    fraction("refine.speckleRange", 16, true, 0, 16 * 128, 12, "px",
             "Largest disparity step inside one region, rounded to 1/16 px.")
        .length(),
};

class SpeckleOnCpu final : public CpuStage {
 public:
  SpeckleOnCpu(const StageTask& task, const CpuContext& cpu)
      : parameters_(speckleParametersFrom(task)), workers_(cpu.workers),
        scratch_(speckleScratchWords(task.width, task.height)) {}

  Status run(const StageImages& images) override {
    speckleFilter(parameters_, images.disparityOut, images.confidenceOut, scratch_.data(), workers_);
    return {};
  }
  size_t workspaceBytes() const override { return scratch_.size() * sizeof(int32_t); }

 private:
  const SpeckleParameters parameters_;
  Workers& workers_;
  std::vector<int32_t> scratch_;
};

}  // namespace

const StageFacts& speckleFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "speckle";
    f.has(kSettings);
    f.writes = f.inPlace = kWritesDisparity | kWritesConfidence;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.speckleSize") > 0; };
    return f;
  }();
  return facts;
}

Status openSpeckleOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<SpeckleOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
