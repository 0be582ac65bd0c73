// SPDX-License-Identifier: Apache-2.0
// The threshold as a stage: its settings and CPU adapter.
#include <atomic>

#include "../../simd/kernels.h"
#include "../../stage.h"
#include "threshold_limits.h"

namespace depthwatt {
namespace {

constexpr int32_t kMaxMillimetres = 1000 * 1000;
constexpr Setting kSettings[] = {
    fraction(
        "refine.minConfidence", 1000, true, 0, 1000, 0, "",
        "Drops pixels whose confidence, as a share of 255, is below this. With refine.confidence = probability, 0.9 keeps pixels that "
        "are right with a probability of at least 90 %. Any value above 0 also drops filled pixels. 0: off."),
    fraction("depth.minMetres", 1000, true, 0, kMaxMillimetres, 0, "m",
             "Drops pixels that are nearer than this. 0: off. Needs a calibration."),
    fraction("depth.maxMetres", 1000, true, 0, kMaxMillimetres, 0, "m",
             "Drops pixels that are farther away than this. 0: off. Needs a calibration."),
};

Status check(const EngineParameters& p) {
  const int32_t min = p.at("depth.minMetres"), max = p.at("depth.maxMetres");
  if ((min > 0 || max > 0) && !p.hasGeometry) {
    return Status::error(Code::kParameter,
                         "Expected a calibration where depth.minMetres or depth.maxMetres limits the depth, got none.");
  }
  if (max > 0 && min > max) {
    return Status::error(
        Code::kParameter,
        "Expected depth.minMetres to be at most depth.maxMetres, %g m, or depth.maxMetres = 0; got %g m.", max / 1000.0,
        min / 1000.0);
  }
  return {};
}

class ThresholdOnCpu final : public CpuStage {
 public:
  ThresholdOnCpu(const StageTask& task, const CpuContext& cpu)
      : limits_(thresholdLimitsFrom(thresholdParametersFrom(task.frame))),
        threshold_(kernelsFor<ThresholdKernels>(cpu.instructionSet).threshold), height_(task.frame.height),
        workers_(cpu.workers) {}

  Status run(const StageImages& images) override {
    std::atomic<int32_t> dropped[kDropCauses] = {};
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      int32_t own[kDropCauses] = {};
      threshold_(limits_, images.disparityOut, images.confidenceOut, own, first, end);
      for (int cause = 0; cause < kDropCauses; ++cause) dropped[cause] += own[cause];
    });
    for (int cause = 0; cause < kDropCauses; ++cause) images.dropped[cause] = dropped[cause];
    return {};
  }

 private:
  const ThresholdLimits limits_;
  const ThresholdRows threshold_;
  const int32_t height_;
  Workers& workers_;
};

}  // namespace

const StageFacts& thresholdFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "threshold";
    f.has(kSettings);
    f.writes = f.inPlace = kWritesDisparity | kWritesConfidence;
    f.isOn = [](const EngineParameters& p) {
      return p.at("refine.minConfidence") > 0 || p.at("depth.minMetres") > 0 || p.at("depth.maxMetres") > 0;
    };
    f.check = check;
    f.reads = f.leaves = Scale::kWhole;
    return f;
  }();
  return facts;
}

Status openThresholdOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<ThresholdOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
