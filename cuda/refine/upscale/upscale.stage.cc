// SPDX-License-Identifier: Apache-2.0
// Upscaling as a stage, for half resolution: its setting and CPU adapter.
#include "../../simd/kernels.h"
#include "../../stage.h"
#include "upscale.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    fraction("refine.upscaleThreshold", 16, true, 0, 16 * 1023, kUpscaleThresholdQ4, "px",
             "At half resolution: largest disparity step that doubling interpolates, in pixels of the half-size map."),
};

}  // namespace

const StageFacts& upscaleFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "upscale";
    f.has(kSettings);
    f.writes = kWritesDisparity | kWritesConfidence;
    f.isOn = [](const EngineParameters& p) { return p.halfResolution; };
    f.leaves = Scale::kWindow;
    return f;
  }();
  return facts;
}

Status openUpscaleOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const UpscaleRows upscale = kernelsFor<UpscaleKernels>(cpu.instructionSet).upscale;
  const int32_t thresholdQ4 = task.at("refine.upscaleThreshold");
  *opened = rowsStage(cpu, task.window.height, [=](const StageImages& images, int32_t first, int32_t end) {
    upscale(thresholdQ4, images.window.grey[0].asConst(), images.disparityIn.asConst(), images.disparityOut, first,
            end);
    upscaleConfidence(images.confidenceIn.asConst(), images.confidenceOut, first, end);
  });
  return {};
}

}  // namespace depthwatt
