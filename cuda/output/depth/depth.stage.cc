// SPDX-License-Identifier: Apache-2.0
// Depth as a stage: its CPU adapter. It needs the geometry of a calibration.
#include "../../simd/kernels.h"
#include "../../stage.h"
#include "depth.h"

namespace depthwatt {
namespace {

Status check(const EngineParameters& p) {
  if (p.hasGeometry && !(p.geometry.focalPixels > 0 && p.geometry.baselineMetres > 0)) {
    return Status::error(Code::kParameter, "Expected a focal length and a baseline above 0, got %g px and %g m.",
                         p.geometry.focalPixels, p.geometry.baselineMetres);
  }
  if (!p.hasGeometry && p.encodeDepth != Encoding::kNone) {
    return Status::error(Code::kParameter,
                         "Expected a geometry (focal length, baseline) where depth is encoded, got none.");
  }
  return {};
}

}  // namespace

const StageFacts& depthFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "depth";
    f.isOn = [](const EngineParameters& p) { return p.hasGeometry; };
    f.check = check;
    f.reads = f.leaves = Scale::kWhole;
    return f;
  }();
  return facts;
}

Status openDepthOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const DepthMillimetresRows depth = kernelsFor<DepthKernels>(cpu.instructionSet).depthMillimetres;
  const DepthGeometry geometry = task.frame.geometry;
  *opened = rowsStage(cpu, task.frame.height, [=](const StageImages& images, int32_t first, int32_t end) {
    depth(geometry, images.disparityIn.asConst(), images.depthMillimetres, first, end);
  });
  return {};
}

}  // namespace depthwatt
