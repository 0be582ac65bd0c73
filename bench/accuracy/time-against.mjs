// SPDX-License-Identifier: Apache-2.0
// Compares the CPU time of a frame with another checkout of depthwatt: sixteen frames of each in turn, on one thread,
// including the look at the pair (every sixteenth frame). Other work on the machine slows all of them, so only the
// ratios count.
//   node bench/accuracy/time-against.mjs --build FOLDER [--rounds N]
// FOLDER is a checkout that was built, at its own defaults. Needs DEPTHWATT_DATA.
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { median } from "../../dist/core/statistics.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, root, writeResult } from "../shared/result-file.mjs";

const SCENES = {
  midd_v2: ["teddy"],
  midd_2005_2006_third: ["Art"],
  midd_2014: ["MotorcycleQ"],
  kitti2015: ["000004_10"],
};
const FRAMES = 16;
const { values } = scriptArguments({
  options: {
    build: { type: "string" },
    rounds: { type: "string", default: "9" },
    ...RESULT_OPTIONS,
  },
});

async function loadContender(build, preset) {
  const from = (path) => import(join(resolve(build), "dist", path));
  const { createEngine } = await from("cuda/index.js");
  const { loadConfig } = await from("edge/config/index.js");
  const { engineOptionsFor } = await from("edge/eval/index.js");
  const { config } = loadConfig({ set: ["engine.threads=1"], ...(preset && { preset }) });
  return ({ width, height, numDisparities }) =>
    createEngine(engineOptionsFor(config, width, height, numDisparities));
}

/** Milliseconds of CPU time a frame. */
async function timeFrames(engine, { left, right }) {
  const before = process.cpuUsage();
  for (let frame = 0; frame < FRAMES; ++frame) {
    await new Promise((done, fail) =>
      engine.submit(0, left, right, (error) => (error ? fail(error) : done())),
    );
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / FRAMES;
}

const contenders = {
  before: await loadContender(values.build),
  default: await loadContender(root),
  quality: await loadContender(root, "quality"),
};
const { readDataset, readScene } = await import(join(root, "dist/edge/eval/index.js"));
const rows = [];
for (const [set, names] of Object.entries(SCENES)) {
  for (const entry of await readDataset(join(process.env.DEPTHWATT_DATA, set))) {
    if (!names.includes(entry.name)) continue;
    const scene = await readScene(entry);
    const engines = Object.entries(contenders).map(([name, open]) => [name, open(scene)]);
    const times = Object.fromEntries(engines.map(([name]) => [name, []]));
    for (const [, engine] of engines) await timeFrames(engine, scene);
    for (let round = 0; round < Number(values.rounds); ++round) {
      for (const [name, engine] of engines) times[name].push(await timeFrames(engine, scene));
    }
    for (const [, engine] of engines) engine.close();
    const medianMs = Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]));
    const smallestMs = Object.fromEntries(
      Object.entries(times).map(([name, all]) => [name, Math.min(...all)]),
    );
    const ratio = (of) => ({
      default: of.default / of.before,
      quality: of.quality / of.before,
    });
    const row = { kind: "measured", scene: entry.name, width: scene.width, height: scene.height };
    rows.push({
      ...row,
      numDisparities: scene.numDisparities,
      medianMs,
      smallestMs,
      ofMedians: ratio(medianMs),
      ofSmallest: ratio(smallestMs),
    });
    console.log(JSON.stringify(rows.at(-1)));
  }
}
const words = ["rev-parse", "--short", "HEAD"];
writeResult("time-against", values, {
  what: `CPU time of a frame, CPU backend, one thread: ${values.rounds} times ${FRAMES} frames of each in turn`,
  before: execFileSync("git", words, { cwd: values.build, encoding: "utf8" }).trim(),
  rows,
});
