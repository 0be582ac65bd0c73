// SPDX-License-Identifier: Apache-2.0
// Local planes as a stage: their setting and CPU adapter.
#include "../../simd/kernels.h"
#include "../../stage.h"
#include "slant.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    flag("refine.slant", false, "Fits a plane around each pixel: slanted surfaces have no steps, and fewer errors."),
};

}  // namespace

const StageFacts& slantFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "slant";
    f.has(kSettings);
    f.writes = kWritesDisparity;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.slant") != 0; };
    f.reach = kSlantReach;
    return f;
  }();
  return facts;
}

Status openSlantOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const SlantRows slant = kernelsFor<SlantKernels>(cpu.instructionSet).slant;
  *opened = rowsStage(cpu, task.height, [=](const StageImages& images, int32_t first, int32_t end) {
    slant(images.matched.grey[0].asConst(), images.disparityIn.asConst(), images.disparityOut, first, end);
  });
  return {};
}

}  // namespace depthwatt
