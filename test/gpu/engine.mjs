// SPDX-License-Identifier: Apache-2.0
// The CUDA backend through the addon: the golden hashes of whole engines, then larger cases against the CPU, every result bit for
// bit, with the time of a frame alone and the rate of two in work. Needs a GPU and the plugin.
//   node test/gpu/engine.mjs [--json]     one line of JSON for each case instead of words
import { readFileSync } from "node:fs";
import { median } from "../../dist/core/statistics.js";
import { createEngine, STAGE_NAMES } from "../../dist/cuda/index.js";
import { floorEngine, floorFrames, floorPair, voxelFrames } from "../doubles/floor-frames.mjs";
import { framesOfMovingRows } from "../doubles/moving-rows.mjs";
import { steadyFrames } from "../doubles/steady-frames.mjs";
import { bentMap, computeHash, engineCases } from "../golden/engine-cases.mjs";

const width = 640;
const height = 480;
const framesTimed = 200;
const asJson = process.argv.includes("--json");

/** Noise that moves by its own disparity in each band of rows, as YUYV. */
function noisyPair() {
  let state = 9;
  const random = () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) & 255;
  };
  const left = new Uint8Array(2 * width * height).map(random);
  const right = new Uint8Array(left.length);
  for (let y = 0; y < height; ++y) {
    const shift = 5 + (y >> 5) * 4;
    for (let i = 0; i < 2 * width; ++i) {
      const from = i + 2 * shift;
      right[2 * y * width + i] = from < 2 * width ? left[2 * y * width + from] : random();
    }
  }
  return { left, right };
}

const { left, right } = noisyPair();
const map = bentMap(width, height);
const match = {
  algorithm: "sgm",
  halfResolution: false,
  minDisparity: 0,
  numDisparities: 128,
  parameters: { cost: "census", paths: 4, p1: 10, p2: 60, adaptiveP2: 0, uniqueness: 5, subpixel: true },
};
const sgm = (parameters, shared = {}) => ({
  ...match,
  ...shared,
  parameters: { ...match.parameters, ...parameters },
});
const cbca = (shared = {}) => ({ ...match, ...shared, algorithm: "cbca", parameters: {} });
const refine = {
  leftRight: true,
  median: true,
  speckleSize: 0,
  speckleRange: 1,
  fill: "off",
  fillThreshold: 1,
  boundary: false,
};
const common = {
  inputWidth: width,
  inputHeight: height,
  width,
  height,
  leftFormat: "YUYV",
  rightFormat: "YUYV",
  leftStrideBytes: 2 * width,
  rightStrideBytes: 2 * width,
  match,
  refine,
  geometry: { focalPixels: 400, baselineMetres: 0.12, disparityOffsetPixels: 0 },
  encodeDepth: "rvl",
  encodeDisparity: "raw",
  threads: 0,
  slots: 4,
  // The camera's buffers, as far as the device is concerned.
  inputMemory: [left, right],
};
const otherCamera = {
  camera: "rgb",
  width: 400,
  height: 300,
  matrix: Float64Array.of(0.62, 0.02, 1, -0.4, -0.02, 0.62, 2, 0.2, 0.00002, 0, 1, 0.001),
};
const region = { x: 200, y: 100, width: 320, height: 240 };
const everything = { ...refine, speckleSize: 30, fill: "background", boundary: true };
const cases = {
  "no maps, 4 paths": {},
  "2 paths": { match: sgm({ paths: 2 }) },
  "8 paths": { match: sgm({ paths: 8 }) },
  "8 paths, everything refined": { match: sgm({ paths: 8 }), refine: everything },
  "a region, everything refined": { refine: everything, region },
  "a region at half resolution": { match: { ...match, halfResolution: true }, refine: everything, region },
  "a region by cbca": { match: cbca({ halfResolution: true }), region },
  "maps, speckle": { leftMap: map, rightMap: map, refine: { ...refine, speckleSize: 30 } },
  "rows watched, 4 paths": { verticalOffset: "auto" },
  "rows apart, 4 paths": { verticalOffset: 1.5 },
  "black level": { leftMap: map, rightMap: map, blackLevel: 40 },
  "maps, rows apart": { leftMap: map, rightMap: map, verticalOffset: -2 },
  "8 paths, adaptive P2": { match: sgm({ paths: 8, p2: 100, adaptiveP2: 20 }) },
  "wide sums, 97 disparities from 7": { match: sgm({ p2: 700 }, { minDisparity: 7, numDisparities: 97 }) },
  "coarse to fine": { match: sgm({ search: "coarseToFine" }, { numDisparities: 128 }) },
  "coarse to fine, three levels, 2 paths, large P2": {
    match: sgm(
      { search: "coarseToFine", paths: 2, p2: 127, adaptiveP2: 0 },
      { minDisparity: 5, numDisparities: 250 },
    ),
    refine: everything,
  },
  "a region coarse to fine, at half resolution": {
    match: sgm({ search: "coarseToFine", rightView: "own" }, { numDisparities: 190, halfResolution: true }),
    region,
  },
  "gradient census, filled": {
    match: sgm({ cost: "gradientCensus" }),
    refine: { ...refine, fill: "bilateral", boundary: true },
  },
  "half resolution": {
    match: sgm({ cost: "gradientCensus" }, { halfResolution: true, minDisparity: 3 }),
    refine: { ...refine, speckleSize: 30, fill: "background", boundary: true },
  },
  "cbca, half resolution": {
    match: cbca({ halfResolution: true, numDisparities: 145 }),
    refine: { ...refine, speckleSize: 30, fill: "background", boundary: true },
  },
  "cbca, full resolution, 97 disparities from 7": {
    match: cbca({ minDisparity: 7, numDisparities: 97 }),
  },
  "cbca, nothing refined": {
    match: cbca(),
    refine: { ...refine, leftRight: false, median: false },
  },
  "local planes, two rounds": { refine: { ...everything, slant: true, rounds: 2 } },
  "local planes at half resolution": {
    match: { ...match, halfResolution: true },
    refine: { ...everything, slant: true },
    region,
  },
  "filtered for noise": { denoise: "on" },
  "averaged over time": { refine: { ...refine, temporal: true } },
  "images averaged over time": { average: true },
  "limited by confidence and depth": {
    refine: { ...refine, minConfidence: 0.9 },
    depth: { minMetres: 0.5, maxMetres: 4 },
  },
  "depth in another camera's image, and the right image": {
    registration: { ...otherCamera, fill: false },
    rightGrey: true,
  },
  "depth in another camera's image, filled": { registration: { ...otherCamera, fill: true } },
  "nothing refined": { refine: { ...refine, leftRight: false, median: false } },
};
const results = [
  ...["left", "right", "disparityQ4", "confidence", "depthMillimetres", "encodedDepth", "encodedDisparity"],
  ...["registered", "registeredConfidence"],
];

const computed = (engine, slot) =>
  new Promise((resolve, reject) =>
    engine.submit(slot, left, right, (error) => (error === null ? resolve() : reject(error))),
  );

const expected = JSON.parse(readFileSync(new URL("../golden/engine.json", import.meta.url), "utf8"));
let failures = 0;
const say = (row, words) => console.log(asJson ? JSON.stringify(row) : words);

for (const [name, engineCase] of Object.entries(engineCases)) {
  const hash = await computeHash(createEngine, engineCase, { backend: "cuda" });
  const equal = hash === expected[name];
  if (!equal) ++failures;
  say({ golden: name, hash, equal }, `golden hash, ${name}: ${equal ? "equal" : `DIFFERENT: ${hash}`}`);
}

{
  const [expectedFrames, got] = [
    await framesOfMovingRows(createEngine, "cpu"),
    await framesOfMovingRows(createEngine, "cuda"),
  ];
  const equal = JSON.stringify(got) === JSON.stringify(expectedFrames);
  if (!equal) ++failures;
  say(
    { case: "rows that move in a run", equal },
    `rows that move in a run: ${equal ? "equal" : "DIFFERENT"}`,
  );
}

for (const [name, changes] of [
  ["averaged over time", {}],
  ["averaged over time, confidence limited", { refine: { temporal: true, minConfidence: 0.9 } }],
  ["averaged over time, images too", { average: true }],
  ["filtered images averaged over time", { average: true, denoise: "on", refine: { temporal: false } }],
  [
    "averaged over time in a region at half resolution",
    { region: { x: 30, y: 10, width: 100, height: 70 }, match: { halfResolution: true } },
  ],
]) {
  const [expectedFrames, got] = [
    await steadyFrames(createEngine, { ...changes, backend: "cpu" }),
    await steadyFrames(createEngine, { ...changes, backend: "cuda" }),
  ];
  const equal = JSON.stringify(got.hashes) === JSON.stringify(expectedFrames.hashes);
  if (!equal) ++failures;
  say({ case: name, equal }, `${name}: ${equal ? "equal" : "DIFFERENT"}`);
}

{
  const [expectedFrames, got] = [
    await floorFrames(createEngine, { backend: "cpu" }),
    await floorFrames(createEngine, { backend: "cuda" }),
  ];
  const equal = JSON.stringify(got) === JSON.stringify(expectedFrames);
  if (!equal) ++failures;
  // The kernels' time without launches of other stages: each stage repeated in one frame.
  const times = 100;
  const { left: leftImage, right: rightImage } = floorPair(width, height);
  const microseconds = {};
  for (const stage of ["floor", "grid"]) {
    const engine = createEngine(
      floorEngine(width, height, { backend: "cuda", repeatStage: { stage, times } }),
    );
    const measured = [];
    for (let frame = 0; frame < 30; ++frame) {
      await engine.compute(leftImage, rightImage);
      measured.push((1000 * engine.stageMilliseconds[STAGE_NAMES.indexOf(stage)]) / times);
    }
    microseconds[stage] = median(measured);
    engine.close();
  }
  const { floor, grid } = microseconds;
  say(
    { case: "floor and grid", equal, microseconds },
    `floor and grid: ${equal ? "equal" : "DIFFERENT"}; ${width}x${height}: floor ${floor.toFixed(1)} us, grid ${grid.toFixed(1)} us`,
  );
}

{
  const [expected, got] = [await voxelFrames(createEngine, "cpu"), await voxelFrames(createEngine, "cuda")];
  const equal = JSON.stringify(got) === JSON.stringify(expected);
  if (!equal) ++failures;
  say({ case: "voxels", equal }, `voxels: ${equal ? "equal" : "DIFFERENT"}`);
}

/** Milliseconds from submit to done, one frame at a time, and what the stages take of them. */
async function alone(engine) {
  const times = [];
  const stages = STAGE_NAMES.map(() => []);
  for (let i = 0; i < framesTimed; ++i) {
    const begun = performance.now();
    await computed(engine, i % common.slots);
    times.push(performance.now() - begun);
    for (const [at, value] of engine.stageMilliseconds.entries())
      if (!Number.isNaN(value)) stages[at].push(value);
  }
  const named = STAGE_NAMES.map((stage, at) => [stage, median(stages[at])]);
  return {
    submitToDoneMs: median(times),
    stages: Object.fromEntries(named.filter(([, ms]) => !Number.isNaN(ms))),
  };
}

/** Milliseconds a frame with as many in work as the engine takes. */
async function together(engine) {
  const begun = performance.now();
  let next = 0;
  const worker = async (first) => {
    for (let slot = first; next++ < framesTimed; slot = (slot + 2) % common.slots)
      await computed(engine, slot);
  };
  await Promise.all(Array.from({ length: engine.framesInFlight }, (_, first) => worker(first)));
  return (performance.now() - begun) / framesTimed;
}

for (const [name, changes] of Object.entries(cases)) {
  const cpu = createEngine({ ...common, ...changes, backend: "cpu" });
  const cuda = createEngine({ ...common, ...changes, backend: "cuda" });
  await computed(cpu, 0);
  await Promise.all([0, 1].map((slot) => computed(cuda, slot)));
  await Promise.all([2, 3].map((slot) => computed(cuda, slot)));
  const different = results.filter((one) =>
    cuda.slots.some(
      (slot) => Buffer.compare(Buffer.from(cpu.slots[0][one].buffer), Buffer.from(slot[one].buffer)) !== 0,
    ),
  );
  failures += different.length;
  const { submitToDoneMs, stages } = await alone(cuda);
  const togetherMs = await together(cuda);
  const { encode, ...kernels } = stages;
  const kernelsMs = Object.values(kernels).reduce((sum, ms) => sum + ms, 0);
  const row = {
    case: name,
    equal: different.length === 0,
    different,
    submitToDoneMs,
    kernelsMs,
    encodeMs: encode,
    overheadMs: submitToDoneMs - kernelsMs - encode,
    twoInWorkMs: togetherMs,
    stages,
    workspaceMegabytes: cuda.info.workspaceBytes / 1e6,
  };
  const verdict = different.length === 0 ? "equal" : `DIFFERENT: ${different.join(", ")}`;
  say(
    row,
    `${name}: ${verdict}; submit to done ${submitToDoneMs.toFixed(3)} ms (kernels ${kernelsMs.toFixed(3)}, encoding ` +
      `${encode.toFixed(3)}, the rest ${row.overheadMs.toFixed(3)}), two in work ${togetherMs.toFixed(3)} ms a frame, ` +
      `${row.workspaceMegabytes.toFixed(1)} MB on the device`,
  );
  cpu.close();
  cuda.close();
}
process.exit(failures === 0 ? 0 : 1);
