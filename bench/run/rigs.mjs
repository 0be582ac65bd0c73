// SPDX-License-Identifier: Apache-2.0
// Measures how many frames a second the engines of one process compute together, for 1, 2, 4 and 8 of them:
//   node bench/run/rigs.mjs [--size 640x480] [--disparities 64] [--engines 1,2,4,8] [--threads 0] [--seconds 5] [--rounds 3]
//   node bench/run/rigs.mjs --backend cuda --size 1280x720 --disparities 128 --json
// Every engine always has frames queued. The numbers of engines take turns, so that other load hits all of them.
import { greyPairLayout } from "../../dist/camera/index.js";
import { quantile } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineOptionsFrom } from "../../dist/edge/pipeline/engine-options.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    backend: { type: "string", default: "cpu" },
    size: { type: "string", default: "640x480" },
    disparities: { type: "string", default: "64" },
    engines: { type: "string", default: "1,2,4,8" },
    threads: { type: "string", default: "0" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
    ...RESULT_OPTIONS,
  },
});
const [width, height] = values.size.split("x").map(Number);
const counts = values.engines.split(",").map(Number);
const SLOTS = 4;

/** A texture that is the same in both images, `shift` pixels apart. */
function picture(shift) {
  const image = new Uint8Array(width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const grain = (Math.imul(x + shift, 2_654_435_761) ^ Math.imul(y, 40_503)) >>> 27;
      image[y * width + x] = Math.round(110 + 60 * Math.sin((x + shift) / 5) * Math.cos(y / 9)) + grain;
    }
  }
  return image;
}
const images = [picture(0), picture(20)];

const { config } = loadConfig({
  environment: {},
  set: [
    "board=none",
    `engine.backend=${values.backend}`,
    `engine.threads=${values.threads}`,
    `match.numDisparities=${values.disparities}`,
  ],
});
const description = { width, height, ...greyPairLayout(width, height) };
const options = engineOptionsFrom(config, { description }, { width, height }, { slots: SLOTS });

/** Keeps the slots of an engine full until `isOver`. @returns when its last frame is done */
function feed(engine, onFrame, isOver) {
  return new Promise((resolve, reject) => {
    let inWork = 0;
    const submit = (slot) => {
      inWork++;
      engine.submit(slot, ...images, (error) => {
        inWork--;
        if (error !== null) reject(error);
        else onFrame();
        if (!isOver()) submit(slot);
        else if (inWork === 0) resolve();
      });
    };
    for (let slot = 0; slot < SLOTS; ++slot) submit(slot);
  });
}

async function measure(count) {
  const engines = Array.from({ length: count }, (_, index) => createEngine({ ...options, rank: index + 1 }));
  for (const engine of engines) await engine.compute(...images);
  let frames = 0;
  const startedMs = performance.now();
  const endMs = startedMs + 1000 * Number(values.seconds);
  let lastMs = startedMs;
  const onFrame = () => {
    frames++;
    lastMs = performance.now();
  };
  await Promise.all(engines.map((engine) => feed(engine, onFrame, () => performance.now() > endMs)));
  const { info } = engines[0];
  for (const engine of engines) engine.close();
  return { fps: (1000 * frames) / (lastMs - startedMs), info };
}

const found = new Map(counts.map((count) => [count, []]));
let engineInfo;
for (let round = 0; round < Number(values.rounds); ++round) {
  for (const count of counts) {
    const { fps, info } = await measure(count);
    engineInfo = info;
    found.get(count).push(fps);
  }
}

const median = (count) => quantile(found.get(count), 0.5);
const one = median(counts[0]);
const rows = counts.map((count) => ({
  kind: "measured",
  engines: count,
  backend: engineInfo.backend,
  instructionSet: engineInfo.instructionSet,
  threads: Number(values.threads) === 0 ? "shared" : Number(values.threads),
  width,
  height,
  numDisparities: Number(values.disparities),
  framesPerSecond: Number(median(count).toFixed(2)),
  leastFramesPerSecond: Number(Math.min(...found.get(count)).toFixed(2)),
  percentOfFirst: Number(((100 * median(count)) / one).toFixed(1)),
}));
if (values.json) console.log(JSON.stringify({ rows }));
else console.table(rows.map(({ kind: _, width: __, height: ___, ...row }) => row));
writeResult(`rigs-${engineInfo.backend}`, values, {
  what: "frames per second of all engines of one process together",
  rows,
});
