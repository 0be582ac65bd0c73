// SPDX-License-Identifier: Apache-2.0
// The confidence limit as a stage: its CPU adapter. It belongs to the confidence stage and has no settings.
#include "../../simd/kernels.h"
#include "../../stage.h"
#include "ambiguity.h"

namespace depthwatt {

const StageFacts& ambiguityFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "ambiguity";
    f.isOn = [](const EngineParameters& p) { return p.at("refine.confidence") == 0 && !bringsDisparity(p); };
    return f;
  }();
  return facts;
}

Status openAmbiguityOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const AmbiguityRows ambiguity = kernelsFor<AmbiguityKernels>(cpu.instructionSet).ambiguity;
  *opened = rowsStage(cpu, blockRowCount(task.height), [=](const StageImages& images, int32_t first, int32_t end) {
    ambiguity({images.matched.grey[0].asConst(), images.matched.grey[1].asConst(), images.disparityIn.asConst()},
              images.limit, first, end);
  });
  return {};
}

}  // namespace depthwatt
