// SPDX-License-Identifier: Apache-2.0
// The confidence as a probability, as a stage: its setting and CPU adapter.
#include "../../simd/kernels.h"
#include "../../stage.h"
#include "confidence.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    word(
        "refine.confidence", "probability peakRatio featureDensity matchingScore product",
        "Meaning of the confidence. probability: how likely a matched pixel is right; the others are measures of Prehn 2007 and "
        "their product."),
};

}  // namespace

const StageFacts& confidenceFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "confidence";
    f.has(kSettings);
    f.writes = kWritesConfidence;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.confidence") == 0 && !bringsDisparity(p); };
    f.reach = 6;
    return f;
  }();
  return facts;
}

Status openConfidenceOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const ConfidenceRows confidence = kernelsFor<ConfidenceKernels>(cpu.instructionSet).confidence;
  const bool estimates = task.frame.matcher.facts->estimates;
  *opened = rowsStage(cpu, task.height, [=](const StageImages& images, int32_t first, int32_t end) {
    confidence(images.matched.grey[0].asConst(), images.disparityIn.asConst(), images.confidenceIn.asConst(), estimates,
               images.limit.asConst(), images.confidenceOut, first, end);
  });
  return {};
}

}  // namespace depthwatt
