// SPDX-License-Identifier: Apache-2.0
// Voxels as a stage: their settings and CPU adapter.
#include "../../stage.h"
#include "voxels.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    wholeNumber("voxels.sizeMillimetres", 5, 10000, 50, "mm", "Edge of the smallest voxel."),
    fraction("voxels.uncertaintyPixels", 16, true, 0, 64, 8, "px",
             "Far voxels are 2, 4, to 128 times as large, so that each covers the depth error of this many pixels of "
             "disparity. 0: all have the same size."),
};

Status check(const EngineParameters& p) {
  if (p.makesVoxels && !p.hasGeometry) {
    return Status::error(Code::kParameter, "Voxels need a geometry (focal length, baseline), got none.");
  }
  return {};
}

class VoxelsOnCpu final : public CpuStage {
 public:
  VoxelsOnCpu(const StageTask& task, const CpuContext& cpu)
      : lister_(makeVoxelsPlan(task.frame.voxels, task.frame.width, task.frame.height), task.frame.width,
                task.frame.height, cpu.workers) {}

  Status run(const StageImages& images) override {
    lister_.list(images.disparityIn.asConst(), images.voxels);
    return {};
  }
  size_t workspaceBytes() const override { return lister_.bytes(); }

 private:
  VoxelLister lister_;
};

}  // namespace

const StageFacts& voxelsFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "voxels";
    f.has(kSettings);
    f.isOn = [](const EngineParameters& p) { return p.makesVoxels; };
    f.check = check;
    f.reads = f.leaves = Scale::kWhole;
    return f;
  }();
  return facts;
}

Status openVoxelsOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<VoxelsOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
