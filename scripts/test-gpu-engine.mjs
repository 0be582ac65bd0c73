// SPDX-License-Identifier: Apache-2.0
// The CUDA backend against the CPU through the addon, every result bit for bit, and the time from submit to done. Needs a GPU
// and the plugin: node scripts/test-gpu-engine.mjs [--json]
import { createEngine } from "../dist/cuda/index.js";

const width = 640;
const height = 480;
const framesTimed = 200;

/** Noise that moves by a disparity of its own in each band of rows, as YUYV. */
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

function bentMap() {
  const map = new Int32Array(2 * width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      map[2 * (y * width + x)] = 32 * x + ((x * y) % 23) - 11;
      map[2 * (y * width + x) + 1] = 32 * y + (x % 7);
    }
  }
  return map;
}

const { left, right } = noisyPair();
const map = bentMap();
const match = {
  algorithm: "sgm",
  cost: "census",
  halfResolution: false,
  minDisparity: 0,
  numDisparities: 128,
  paths: 4,
  p1: 10,
  p2: 60,
  adaptiveP2: 0,
  uniqueness: 5,
  subpixel: true,
};
const refine = {
  leftRight: true,
  median: true,
  speckleSize: 0,
  speckleRangeQ4: 16,
  fill: "off",
  fillThresholdQ4: 16,
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
  slots: 3,
};
const cases = {
  "no maps, 4 paths": {},
  "maps, speckle": { leftMap: map, rightMap: map, refine: { ...refine, speckleSize: 30 } },
  "8 paths, adaptive P2": { match: { ...match, paths: 8, p2: 100, adaptiveP2: 20 } },
  "wide sums, 97 disparities from 7": { match: { ...match, p2: 700, minDisparity: 7, numDisparities: 97 } },
  "gradient census, filled": {
    match: { ...match, cost: "gradientCensus" },
    refine: { ...refine, fill: "bilateral", boundary: true },
  },
  "half resolution": {
    match: { ...match, cost: "gradientCensus", halfResolution: true, minDisparity: 3 },
    refine: { ...refine, speckleSize: 30, fill: "background", boundary: true },
  },
  "cbca, half resolution": {
    match: { ...match, algorithm: "cbca", halfResolution: true, numDisparities: 145 },
    refine: { ...refine, speckleSize: 30, fill: "background", boundary: true },
  },
  "cbca, full resolution, 97 disparities from 7": {
    match: { ...match, algorithm: "cbca", minDisparity: 7, numDisparities: 97 },
  },
  "cbca, nothing refined": {
    match: { ...match, algorithm: "cbca" },
    refine: { ...refine, leftRight: false, median: false },
  },
  "nothing refined": { refine: { ...refine, leftRight: false, median: false } },
};
const results = ["left", "disparityQ4", "confidence", "depthMillimetres", "encodedDepth", "encodedDisparity"];

const computed = (engine, slot) =>
  new Promise((resolve, reject) =>
    engine.submit(slot, left, right, (error) => (error === null ? resolve() : reject(error))),
  );

let failures = 0;
for (const [name, changes] of Object.entries(cases)) {
  const cpu = createEngine({ ...common, ...changes, backend: "cpu" });
  const cuda = createEngine({ ...common, ...changes, backend: "cuda" });
  await computed(cpu, 0);
  for (let slot = 0; slot < common.slots; ++slot) await computed(cuda, slot);
  const different = results.filter(
    (one) => Buffer.compare(Buffer.from(cpu.slots[0][one]), Buffer.from(cuda.slots[0][one])) !== 0,
  );
  failures += different.length;
  const times = [];
  for (let i = 0; i < framesTimed; ++i) {
    const begun = performance.now();
    await computed(cuda, i % common.slots);
    times.push(performance.now() - begun);
  }
  times.sort((a, b) => a - b);
  const stages = [...cuda.stageMilliseconds].map((value) => (Number.isNaN(value) ? "-" : value.toFixed(3)));
  const verdict = different.length === 0 ? "equal" : `DIFFERENT: ${different.join(", ")}`;
  console.log(
    `${name}: ${verdict}; submit to done ${times[framesTimed / 2].toFixed(3)} ms, stages ${stages.join(" ")} ms, ` +
      `${(cuda.info.workspaceBytes / 1e6).toFixed(1)} MB on the device`,
  );
  cpu.close();
  cuda.close();
}
process.exit(failures === 0 ? 0 : 1);
