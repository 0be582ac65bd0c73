// SPDX-License-Identifier: Apache-2.0
// Points as a stage: their settings and CPU adapter.
#include "../../simd/kernels.h"
#include "../../stage.h"
#include "points.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    word(
        "points.frame", "camera robot",
        "Axes of the points. camera: x right, y down, z ahead, from the left camera; robot: x ahead, y left, z up, from the "
        "middle of the baseline.")
        .restart(),
    word("points.element", "float32 int16",
         "Number format. float32: metres; int16: millimetres, half the bytes, no point beyond 32.767 m.")
        .restart(),
    word(
        "points.colour", "grey rgb registered",
        "Colour of each point. rgb needs a left camera with colours; registered takes the image of registration.camera, "
        "where that camera sees the point.")
        .restart(),
};

Status check(const EngineParameters& p) {
  if (p.makesPoints && !p.hasGeometry) {
    return Status::error(Code::kParameter, "Points need a geometry (focal length, baseline), got none.");
  }
  if (needsPointColours(p) && !p.points.fromRegistered && !hasColours(p.leftFormat)) {
    return Status::error(Code::kParameter, "Points with colours need a left image with colours.");
  }
  return {};
}

}  // namespace

const StageFacts& pointsFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "points";
    f.has(kSettings);
    f.isOn = [](const EngineParameters& p) { return p.makesPoints; };
    f.check = check;
    f.reads = f.leaves = Scale::kWhole;
    return f;
  }();
  return facts;
}

Status openPointsOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const PointsRows points = kernelsFor<PointsKernels>(cpu.instructionSet).points;
  const PointsPlan plan = makePointsPlan(task.frame.points, task.frame.width);
  *opened = rowsStage(cpu, task.frame.height, [=](const StageImages& images, int32_t first, int32_t end) {
    points(plan, {images.disparityIn.asConst(), images.whole.grey[0].asConst(), images.whole.rgb[0].asConst()},
           images.points, first, end);
  });
  return {};
}

}  // namespace depthwatt
