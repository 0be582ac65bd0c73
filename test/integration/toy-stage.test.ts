// SPDX-License-Identifier: Apache-2.0
// A stage added as CONTRIBUTING says: its folder and one line in cuda/stages.h. It adds a number of pixels to every disparity, and
// fails where it is told to, so that its errors can be seen.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TreeCopy } from "../doubles/tree-copy.js";

const STAGE = `// SPDX-License-Identifier: Apache-2.0
// The toy on the CPU.
#include "../../stage.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    wholeNumber("refine.toyShift", 0, 9, 0, "px", "Pixels that are added to every disparity. 0 switches the toy off."),
};

}  // namespace

const StageFacts& toyFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "toy";
    f.has(kSettings);
    f.writes = kWritesDisparity;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.toyShift") > 0; };
    return f;
  }();
  return facts;
}

Status openToyOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
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

const PROGRAM = `
  import { createEngine, STAGE_NAMES } from "./dist/cuda/index.js";
  import { loadConfig } from "./dist/edge/config/index.js";
  const compute = async (set) => {
    const { config } = loadConfig({ environment: {}, set: ["board=none", ...set] });
    const engine = createEngine({
      inputWidth: 96, inputHeight: 40, width: 96, height: 40, leftFormat: "GREY", rightFormat: "GREY",
      leftStrideBytes: 96, rightStrideBytes: 96, threads: 1, slots: 2, backend: "cpu",
      match: { algorithm: "sgm", halfResolution: false, minDisparity: 0, numDisparities: 16, parameters: {} },
      refine: config.refine,
    });
    const image = Uint8Array.from({ length: 96 * 40 }, (_, i) => (i * i * 31 + (i >> 5)) % 251);
    await engine.compute(image, image);
    const ran = STAGE_NAMES.filter((_, stage) => !Number.isNaN(engine.stageMilliseconds[stage]));
    const map = [...engine.slots[0].disparityQ4];
    engine.close();
    return { ran, map };
  };
  const off = await compute([]), on = await compute(["refine.toyShift=3"]);
  const valid = off.map.flatMap((d, i) => (d === -32768 ? [] : [i]));
  console.log(JSON.stringify({
    ran: on.ran, idle: off.ran.includes("toy"), valid: valid.length,
    shifted: valid.every((i) => on.map[i] === off.map[i] + 48),
  }));
`;

let tree: TreeCopy;
beforeAll(async () => {
  tree = new TreeCopy();
  tree.put("cuda/refine/toy/toy.stage.cc", STAGE);
  const line = readFileSync(join(tree.root, "cuda/stages.h"), "utf8").match(
    / {2}STAGE\(upscale, Upscale\).*\n/,
  )![0];
  tree.replace("cuda/stages.h", line, `  STAGE(toy, Toy) \\\n${line}`);
  await tree.build("build");
}, 960_000);
afterAll(() => tree.remove());

test("it runs at its place, by its setting, and one file outside its folder has changed", () => {
  const { stdout, stderr, status } = tree.evaluate(PROGRAM);
  expect(status, stderr).toBe(0);
  const { ran, idle, valid, shifted } = JSON.parse(stdout);
  expect(ran.indexOf("toy")).toBe(ran.indexOf("median") + 1);
  expect({ idle, shifted }).toEqual({ idle: false, shifted: true });
  expect(valid).toBeGreaterThan(1000);
  expect(tree.changed).toEqual(["cuda/stages.h"]);
});

const RUN = ["run", "--broker", "none", "--frames", "2", "--json", "--set", "engine.backend=cpu"];

test("the program runs it", () => {
  const { stdout, stderr, status } = tree.run(...RUN, "--set", "refine.toyShift=2");
  expect(status, stderr).toBe(0);
  const figures = JSON.parse(stdout.trim().split("\n").at(-1)!);
  expect(Object.keys(figures.stages)).toContain("toy");
});

test.each([
  [
    "a setting out of its range",
    "10",
    /refine\.toyShift .*expected a whole number from 0 to 9 \(px\), got 10/,
  ],
  ["a stage that cannot be opened", "8", /Stage toy: Expected a shift that suits the toy, got 8/],
  ["a stage that fails in a frame", "9", /Stage toy: Expected luck, got none/],
])("%s is an error that names it", (_, shift, message) => {
  const { stderr, status } = tree.run(...RUN, "--set", `refine.toyShift=${shift}`);
  expect(status).not.toBe(0);
  expect(stderr).toMatch(message);
});
