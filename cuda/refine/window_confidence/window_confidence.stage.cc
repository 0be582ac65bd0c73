// SPDX-License-Identifier: Apache-2.0
// Prehn's confidence measures as a stage: the CPU adapter. Runs if refine.confidence names one of them.
#include "../../simd/kernels.h"
#include "../../stage.h"
#include "window_confidence.h"

namespace depthwatt {

const StageFacts& windowConfidenceFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "windowConfidence";
    f.writes = kWritesConfidence;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.confidence") > 0 && !bringsDisparity(p); };
    f.reach = kMeasureRadius;
    return f;
  }();
  return facts;
}

Status openWindowConfidenceOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const WindowConfidenceRows windowConfidence =
      kernelsFor<WindowConfidenceKernels>(cpu.instructionSet).windowConfidence;
  // The values of refine.confidence: probability, then the measures in their order.
  const ConfidenceMeasure measure = static_cast<ConfidenceMeasure>(task.at("refine.confidence") - 1);
  const bool estimates = task.frame.matcher.facts->estimates;
  *opened = rowsStage(cpu, task.height, [=](const StageImages& images, int32_t first, int32_t end) {
    windowConfidence(measure,
                     {images.matched.grey[0].asConst(), images.matched.grey[1].asConst(), images.disparityIn.asConst(),
                      images.confidenceIn.asConst(), estimates},
                     images.confidenceOut, first, end);
  });
  return {};
}

}  // namespace depthwatt
