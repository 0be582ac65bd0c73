// SPDX-License-Identifier: Apache-2.0
// Half resolution as a stage: its setting and CPU adapter for both images of a pair.
#include "../../simd/kernels.h"
#include "../../stage.h"
#include "half.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    flag(
        "match.halfResolution", false,
        "Matches at half the width and height with half the disparities, then doubles the result: about four times faster, less "
        "detail. auto: as the matcher recommends.")
        .orAuto(),
};

}  // namespace

const StageFacts& halfFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "half";
    f.has(kSettings);
    f.isOn = [](const EngineParameters& p) { return p.halfResolution; };
    return f;
  }();
  return facts;
}

Status openHalfOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const HalfRows half = kernelsFor<HalfKernels>(cpu.instructionSet).half;
  const HalfRgbRows halfRgb = kernelsFor<HalfKernels>(cpu.instructionSet).halfRgb;
  const bool colours[2] = {needsRgb(task.frame, 0), needsRgb(task.frame, 1)};
  *opened = rowsStage(cpu, task.height, [=](const StageImages& images, int32_t first, int32_t end) {
    for (int side = 0; side < 2; ++side) {
      half(images.window.grey[side].asConst(), images.matched.grey[side], first, end);
      if (colours[side]) halfRgb(images.window.rgb[side].asConst(), images.matched.rgb[side], first, end);
    }
  });
  return {};
}

}  // namespace depthwatt
