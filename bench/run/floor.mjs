// SPDX-License-Identifier: Apache-2.0
// Measures the stages floor and grid at 640x480 on frames that bring their disparity:
//   node bench/run/floor.mjs [--backend cpu|cuda] [--out FILE]
// CPU: two threads, the stages' times in each frame. CUDA: each stage repeated in a frame, so that its time is that of its kernels
// in a row.
import { setTimeout } from "node:timers/promises";
import { quantile } from "../../dist/core/statistics.js";
import { createEngine, STAGE_NAMES } from "../../dist/cuda/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { floorEngine, floorPair } from "../../test/doubles/floor-frames.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: { ...RESULT_OPTIONS, backend: { type: "string" } } });
const backend = values.backend ?? "cpu";
const [width, height] = [640, 480];
const [ROUNDS, FRAMES, REPETITIONS] = [40, 10, backend === "cuda" ? 100 : 1];
const pairs = Array.from({ length: FRAMES }, (_, seed) => floorPair(width, height, { seed: seed + 1 }));
const place = (stage) => STAGE_NAMES.indexOf(stage);

/** Returns the milliseconds of the stages for each frame. */
async function measure(stages, changes) {
  const engine = createEngine(floorEngine(width, height, { backend, threads: 2, ...changes }));
  const times = [];
  for (let round = 0; round < ROUNDS; ++round) {
    // With real-time priority (chrt) no other process would run otherwise.
    await setTimeout(20);
    for (const [frame, { left, right }] of pairs.entries()) {
      await engine.compute(left, right);
      if (engine.slots[0].floor[0] !== 0 || Math.max(...engine.slots[0].grid) !== 3)
        throw new Error("expected a floor with a drop-off");
      const each = stages.map((stage) => engine.stageMilliseconds[place(stage)] / REPETITIONS);
      if (frame > 0) times.push(each);
    }
  }
  const { instructionSet } = engine.info;
  engine.close();
  return { times, instructionSet };
}

const stages = ["floor", "grid"];
const measured = {};
let instructionSet = "";
if (backend === "cpu") {
  const found = await measure(stages, {});
  instructionSet = found.instructionSet;
  for (const [at, stage] of stages.entries()) measured[stage] = found.times.map((each) => each[at]);
  measured["floor and grid"] = found.times.map(([floor, grid]) => floor + grid);
} else {
  for (const stage of stages) {
    const found = await measure([stage], { repeatStage: { stage, times: REPETITIONS } });
    instructionSet = found.instructionSet;
    measured[stage] = found.times.flat();
  }
  measured["floor and grid"] = measured.floor.map((floor, at) => floor + measured.grid[at]);
}
const round5 = (value) => Math.round(value * 1e5) / 1e5;
const rows = Object.entries(measured).map(([what, times]) => ({
  kind: "measured",
  what: `${what}, ${width}x${height}`,
  backend,
  ...(backend === "cpu" && { threads: 2 }),
  instructionSet,
  repetitions: REPETITIONS,
  frames: times.length,
  medianMs: round5(quantile(times, 0.5)),
  p90Ms: round5(quantile(times, 0.9)),
  leastMs: round5(quantile(times, 0)),
}));
console.table(rows.map(({ kind: _, ...row }) => row));
writeResult("floor", values, {
  what: "the stages floor and grid of a frame with a floor, a box and a drop-off",
  rows,
});
