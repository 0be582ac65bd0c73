// SPDX-License-Identifier: Apache-2.0
// The region of interest as a stage (decision 0036): its settings and CPU adapter. There the window is a part of the
// whole images, so only the pixels around the region change.
#include <algorithm>

#include "../../stage.h"

namespace depthwatt {
namespace {

constexpr int32_t kMaxSide = 16384;
constexpr Setting kSettings[] = {
    wholeNumber("region.x", 0, kMaxSide - 1, 0, "px", "First column of the region."),
    wholeNumber("region.y", 0, kMaxSide - 1, 0, "px", "First row of the region."),
    wholeNumber("region.width", 0, kMaxSide, 0, "px", "Width of the region. 0: everything from x on."),
    wholeNumber("region.height", 0, kMaxSide, 0, "px", "Height of the region. 0: everything from y on."),
};

Status check(const EngineParameters& p) {
  const Region& r = p.region;
  const bool inside = r.width >= 1 && r.height >= 1 && r.x < p.width && r.y < p.height && r.width <= p.width - r.x &&
                      r.height <= p.height - r.y;
  if (inside || (r.x == 0 && r.y == 0 && r.width == 0 && r.height == 0)) return {};
  return Status::error(Code::kParameter,
                       "Expected a region inside the rectified images of %dx%d, got %dx%d from (%d, %d) on.", p.width,
                       p.height, r.width, r.height, r.x, r.y);
}

}  // namespace

const StageFacts& regionFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "region";
    f.has(kSettings);
    f.writes = kWritesDisparity | kWritesConfidence;
    f.isOn = [](const EngineParameters& p) { return p.region.width > 0; };
    f.check = check;
    f.reads = Scale::kWindow;
    f.leaves = Scale::kWhole;
    return f;
  }();
  return facts;
}

Status openRegionOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const Region region = task.frame.region;
  *opened = rowsStage(cpu, task.frame.height, [=](const StageImages& images, int32_t first, int32_t end) {
    const auto clear = [&](int32_t y, int32_t from, int32_t to) {
      std::fill(images.disparityOut.row(y) + from, images.disparityOut.row(y) + to, kInvalidDisparity);
      std::fill(images.confidenceOut.row(y) + from, images.confidenceOut.row(y) + to, uint8_t{0});
    };
    const int32_t width = images.disparityOut.width;
    for (int32_t y = first; y < end; ++y) {
      const bool within = y >= region.y && y < region.y + region.height;
      clear(y, 0, within ? region.x : width);
      if (within) clear(y, region.x + region.width, width);
    }
  });
  return {};
}

}  // namespace depthwatt
