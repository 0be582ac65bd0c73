// SPDX-License-Identifier: Apache-2.0
// The median as a stage: its setting and CPU adapter.
#include "../../simd/kernels.h"
#include "../rounds.h"
#include "median.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    flag("refine.median", true, "Removes single wrong disparities by a 3x3 median."),
};

}  // namespace

const StageFacts& medianFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "median";
    f.has(kSettings);
    f.writes = kWritesDisparity;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.median") != 0; };
    f.rounds = refinementRounds;
    f.reach = 1;
    return f;
  }();
  return facts;
}

Status openMedianOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const MedianRows median = kernelsFor<MedianKernels>(cpu.instructionSet).median;
  *opened = rowsStage(cpu, task.height, [=](const StageImages& images, int32_t first, int32_t end) {
    median(images.disparityIn.asConst(), images.disparityOut, first, end);
  });
  return {};
}

}  // namespace depthwatt
