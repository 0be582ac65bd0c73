// SPDX-License-Identifier: Apache-2.0
// The grid as a stage: its CPU adapter, which takes the filtered floor of the frame.
#include <algorithm>

#include "../../stage.h"
#include "grid.h"

namespace depthwatt {
namespace {

Status check(const EngineParameters& p) {
  if (!p.makesGrid) return {};
  if (!p.findsFloor) return Status::error(Code::kParameter, "A grid needs a floor, got none.");
  const GridParameters& g = p.grid;
  const struct {
    const char* name;
    double value, low, high;
  } numbers[] = {{"cellMetres", g.cellMetres, 0.01, 1},
                 {"obstacleMetres", g.obstacleMetres, 0, 100},
                 {"tallMetres", g.tallMetres, 0, 100},
                 {"dropMetres", g.dropMetres, 0, 100},
                 {"errorPixels", g.errorPixels, 0, 64}};
  for (const auto& number : numbers) {
    if (number.value >= number.low && number.value <= number.high) continue;
    return Status::error(Code::kParameter, "grid: expected %s from %g to %g, got %g.", number.name, number.low,
                         number.high, number.value);
  }
  return {};
}

class GridOnCpu final : public CpuStage {
 public:
  GridOnCpu(const StageTask& task, const CpuContext& cpu) : p_(task.frame), workers_(cpu.workers) {
    counts_.resize(gridCells(p_.grid) * static_cast<size_t>(workers_.count()));
  }

  Status run(const StageImages& images) override {
    if (images.floor[kFloorIsThere] == 0) {
      std::fill_n(images.grid, gridCells(p_.grid), kGridUnknown);
      return {};
    }
    const GridPlan plan = makeGridPlan(p_.grid, filteredFloor(images.floor), p_.width, p_.height);
    makeGrid(plan, images.disparityIn.asConst(), images.confidenceIn.asConst(), counts_.data(), images.grid, workers_);
    return {};
  }
  size_t workspaceBytes() const override { return counts_.size() * sizeof(GridCounts); }

 private:
  const EngineParameters& p_;
  Workers& workers_;
  std::vector<GridCounts> counts_;
};

}  // namespace

const StageFacts& gridFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "grid";
    f.isOn = [](const EngineParameters& p) { return p.makesGrid; };
    f.check = check;
    f.reads = f.leaves = Scale::kWhole;
    return f;
  }();
  return facts;
}

Status openGridOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<GridOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
