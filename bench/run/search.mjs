// SPDX-License-Identifier: Apache-2.0
// Times the match of sgm with both searches, frame by frame in turn, on the CPU: node bench/run/search.mjs [--threads N]
// [--frames N]. Other work on the machine slows both, so only the ratios count. The CPU time is that of
// whole frames whose refinement is off but for the left-right check.
import { SceneRenderer } from "../../dist/camera/index.js";
import { median } from "../../dist/core/statistics.js";
import { createEngine, STAGE_NAMES } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { engineOptionsFor } from "../../dist/edge/eval/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const SEARCHES = ["full", "coarseToFine"];
const CASES = [
  [640, 480, 128],
  [1280, 720, 128],
  [1280, 720, 256],
];
const { values } = scriptArguments({
  options: {
    threads: { type: "string", default: "2" },
    frames: { type: "string", default: "31" },
    set: { type: "string", multiple: true, default: [] },
    ...RESULT_OPTIONS,
  },
});

const MATCH = STAGE_NAMES.indexOf("match");
const UNREFINED = ["speckleSize=0", "fill=off", "boundary=false", "median=false"];
const rows = [];
for (const [width, height, numDisparities] of CASES) {
  const { left, right } = await new SceneRenderer(loadNative(), { width, height }).frame(40);
  const engines = SEARCHES.map((search) => {
    const set = [
      `match.sgm.search=${search}`,
      `engine.threads=${values.threads}`,
      "engine.backend=cpu",
      ...UNREFINED.map((setting) => `refine.${setting}`),
      ...values.set,
    ];
    const { config } = loadConfig({ set, environment: {} });
    return createEngine(engineOptionsFor(config, width, height, numDisparities));
  });
  const times = engines.map(() => []);
  const cpuTimes = engines.map(() => []);
  for (let frame = -3; frame < Number(values.frames); ++frame) {
    for (const [i, engine] of engines.entries()) {
      const before = process.cpuUsage();
      await engine.compute(left.data, right.data);
      const { user, system } = process.cpuUsage(before);
      if (frame < 0) continue;
      times[i].push(engine.stageMilliseconds[MATCH]);
      cpuTimes[i].push((user + system) / 1000);
    }
  }
  const perSearch = (value) =>
    Object.fromEntries(SEARCHES.map((search, i) => [search, value(times[i], engines[i])]));
  const row = {
    kind: "measured",
    width,
    height,
    numDisparities,
    threads: Number(values.threads),
    instructionSet: engines[0].info.instructionSet,
    settings: values.set,
    medianMs: perSearch(median),
    smallestMs: perSearch((all) => Math.min(...all)),
    smallestCpuMs: perSearch((_, engine) => Math.min(...cpuTimes[engines.indexOf(engine)])),
    workspaceBytes: perSearch((_, engine) => engine.info.workspaceBytes),
  };
  const ratio = ({ full, coarseToFine }) => coarseToFine / full;
  rows.push({
    ...row,
    ofMedians: ratio(row.medianMs),
    ofSmallest: ratio(row.smallestMs),
    ofCpu: ratio(row.smallestCpuMs),
  });
  console.log(JSON.stringify(rows.at(-1)));
  for (const engine of engines) engine.close();
}
writeResult("search", values, {
  what: `match of sgm, CPU backend: ${values.frames} frames of each search in turn`,
  rows,
});
