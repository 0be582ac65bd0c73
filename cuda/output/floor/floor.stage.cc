// SPDX-License-Identifier: Apache-2.0
// The floor as a stage: its CPU adapter, which follows the floor from frame to frame.
#include <cmath>

#include "../../simd/kernels.h"
#include "../../stage.h"
#include "floor.h"

namespace depthwatt {
namespace {

Status check(const EngineParameters& p) {
  if (!p.findsFloor) return {};
  if (!p.hasGeometry) {
    return Status::error(Code::kParameter, "The floor needs a geometry (focal length, baseline), got none.");
  }
  const FloorSettings& f = p.floor;
  const bool fits = f.focalPixels >= 1 && f.focalPixels <= 1e5 && f.baselineMetres >= 1e-3 && f.baselineMetres <= 100 &&
                    std::fabs(f.disparityOffsetPixels) <= 4096 && std::fabs(f.cx) <= 1e5 && std::fabs(f.cy) <= 1e5;
  if (!fits) {
    return Status::error(Code::kParameter,
                         "Expected for the floor a focal length of 1 to 100000 px, a baseline of 0.001 to 100 m, and a "
                         "principal point within 100000 px; got %g px, %g m, %g and %g px.",
                         f.focalPixels, f.baselineMetres, f.cx, f.cy);
  }
  if (p.floor.isSet && p.floor.plane.b < 1) {
    return Status::error(Code::kParameter,
                         "Expected a floor below the cameras, got a plane that rises down the image.");
  }
  return {};
}

class FloorOnCpu final : public CpuStage {
 public:
  FloorOnCpu(const StageTask& task, const CpuContext& cpu)
      : height_(task.frame.height), workers_(cpu.workers), score_(kernelsFor<FloorKernels>(cpu.instructionSet).score),
        parameters_(makeFloorParameters(task.frame.floor, task.frame.width, task.frame.height)),
        repetitions_(task.frame.repeatedStage == kFloorStage ? task.frame.repetitions : 1) {}

  Status run(const StageImages& images) override {
    // Each repetition of a measurement begins with the same memory.
    if (runs_++ % repetitions_ == 0) before_ = memory_;
    else memory_ = before_;
    const FloorResult found = findFloor(withFloorBefore(parameters_, memory_), images.disparityIn.asConst(),
                                        images.confidenceIn.asConst(), score_, workers_);
    followFloor(parameters_, height_, found, &memory_, images.floor);
    return {};
  }
  void forget() override { memory_ = {}; }

 private:
  const int32_t height_;
  Workers& workers_;
  const FloorScore score_;
  const FloorParameters parameters_;
  const int32_t repetitions_;
  int32_t runs_ = 0;
  FloorMemory memory_ = {}, before_ = {};
};

}  // namespace

const StageFacts& floorFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "floor";
    f.isOn = [](const EngineParameters& p) { return p.findsFloor; };
    f.check = check;
    f.remembers = true;
    f.reads = f.leaves = Scale::kWhole;
    return f;
  }();
  return facts;
}

Status openFloorOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<FloorOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
