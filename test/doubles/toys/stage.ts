// SPDX-License-Identifier: Apache-2.0
// Defines toy stages: a folder and one line in cuda/stages.h each. `shift` adds a number of pixels to every disparity
// and fails on request. `toyWide` claims another output size than it writes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TreeCopy } from "../tree-copy.js";

const STAGE = `// SPDX-License-Identifier: Apache-2.0
// The toy on the CPU.
#include "../../stage.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    wholeNumber("refine.toyShift", 0, 9, 0, "px", "Pixels that are added to every disparity. 0 switches the stage off."),
};

}  // namespace

const StageFacts& shiftFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "shift";
    f.has(kSettings);
    f.writes = kWritesDisparity;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.toyShift") > 0; };
    return f;
  }();
  return facts;
}

Status openShiftOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  const int32_t shift = task.at("refine.toyShift");
  if (shift == 8) return Status::error(Code::kFailed, "Expected a shift that suits the toy, got 8.");
  class Failing final : public CpuStage {
    Status run(const StageImages&) override { return Status::error(Code::kFailed, "Expected luck, got none."); }
  };
  if (shift == 9) {
    *opened = std::make_unique<Failing>();
    return {};
  }
  *opened = rowsStage(cpu, task.height, [=](const StageImages& images, int32_t first, int32_t end) {
    for (int32_t y = first; y < end; ++y) {
      for (int32_t x = 0; x < task.width; ++x) {
        const int16_t found = images.disparityIn.row(y)[x];
        images.disparityOut.row(y)[x] =
            found == kInvalidDisparity ? found : static_cast<int16_t>(found + 16 * shift);
      }
    }
  });
  return {};
}

}  // namespace depthwatt
`;

const WIDE = `// SPDX-License-Identifier: Apache-2.0
// A toy that claims to leave a disparity for the images that are matched at full resolution.
#include "../../stage.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {flag("refine.toyWide", false, "Claims another size.")};

}  // namespace

const StageFacts& toyWideFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "toyWide";
    f.has(kSettings);
    f.writes = f.inPlace = kWritesDisparity;
    f.leaves = Scale::kWindow;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.toyWide") != 0; };
    return f;
  }();
  return facts;
}

Status openToyWideOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = rowsStage(cpu, task.height, [](const StageImages&, int32_t, int32_t) {});
  return {};
}

}  // namespace depthwatt
`;

function addLine(tree: TreeCopy, line: string): void {
  const next = / {2}STAGE\(upscale, Upscale\).*\n/.exec(
    readFileSync(join(tree.root, "cuda/stages.h"), "utf8"),
  )![0];
  tree.replace("cuda/stages.h", next, `  ${line} \\\n${next}`);
}

export function addWideStage(tree: TreeCopy): void {
  tree.put("cuda/refine/toy_wide/toy_wide.stage.cc", WIDE);
  addLine(tree, "STAGE(toyWide, ToyWide)");
}

export function addStage(tree: TreeCopy): void {
  tree.put("cuda/refine/shift/shift.stage.cc", STAGE);
  addLine(tree, "STAGE(shift, Shift)");
}
