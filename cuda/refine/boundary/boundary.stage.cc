// SPDX-License-Identifier: Apache-2.0
// Boundary sharpening as a stage: its settings and CPU adapter.
#include "../../simd/kernels.h"
#include "../rounds.h"
#include "boundary.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    flag("refine.boundary", true, "Moves disparity edges onto nearby grey edges. Turn it off to save time."),
    wholeNumber("refine.rounds", 1, kMaxRounds, 1, "",
                "How often refine.boundary and refine.median run in turn, if both are on."),
};

}  // namespace

const StageFacts& boundaryFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "boundary";
    f.has(kSettings);
    f.writes = kWritesDisparity;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.boundary") != 0; };
    f.rounds = refinementRounds;
    f.reach = kBoundaryRadius;
    return f;
  }();
  return facts;
}

Status openBoundaryOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const BoundaryRows boundary = kernelsFor<BoundaryKernels>(cpu.instructionSet).boundary;
  *opened = rowsStage(cpu, task.height, [=](const StageImages& images, int32_t first, int32_t end) {
    boundary(images.matched.grey[0].asConst(), images.disparityIn.asConst(), images.disparityOut, first, end);
  });
  return {};
}

}  // namespace depthwatt
