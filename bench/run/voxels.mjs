// SPDX-License-Identifier: Apache-2.0
// Measures small clouds: voxels, bytes and error by size and growth, and the time to make and pack them:
//   node bench/run/voxels.mjs [--machine NAME] [--load REMARK] [--out FILE]
// Pairs are the synthetic scene and two of the research sets (DEPTHWATT_DATA). The error of a pixel is the distance of its point
// from the middle of its voxel.
import { join } from "node:path";
import { SceneRenderer, sceneView } from "../../dist/camera/index.js";
import { decodeVoxels, encodeVoxels, sortedVoxels, voxelsMaxBytes } from "../../dist/core/frame/voxels.js";
import { quantile } from "../../dist/core/statistics.js";
import { createEngine, listedVoxels, STAGE_NAMES } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { engineOptionsFor } from "../../dist/edge/eval/engine-matcher.js";
import { readDataset, readScene } from "../../dist/edge/eval/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: RESULT_OPTIONS });
const FRAMES = 15;
const VOXELS = STAGE_NAMES.indexOf("voxels");
/** [voxels.sizeMillimetres, voxels.uncertaintyPixels]; the defaults first. */
const FORMS = [
  [50, 0.5],
  [50, 0],
  [50, 0.25],
  [100, 0.5],
  [20, 0.5],
];

/** The geometry of the sets: calib.txt of Middlebury 2014 at quarter size, KITTI's calibration of 2011-09-26. */
const REAL = [
  ["kitti2015", "000004_10", { focalPixels: 721.5, baselineMetres: 0.54, offset: 0, cx: 609.6, cy: 172.9 }],
  [
    "midd_2014",
    "MotorcycleQ",
    { focalPixels: 999.421, baselineMetres: 0.193001, offset: 32.778, cx: 294.182, cy: 252.932 },
  ],
];

async function pairs() {
  const [width, height] = [640, 480];
  const renderer = new SceneRenderer(loadNative(), { width, height, view: "rectified" });
  const { left, right } = await renderer.frame(0);
  renderer.close();
  const { focalPixels, cx, cy } = sceneView(width, height);
  const view = { focalPixels, baselineMetres: 0.12, offset: 0, cx, cy };
  const found = [{ name: "scene", width, height, left: left.data, right: right.data, search: 64, view }];
  for (const [set, name, geometry] of REAL) {
    const entries = await readDataset(join(process.env.DEPTHWATT_DATA ?? "", set));
    const entry = entries.find((one) => one.name === name);
    found.push({ ...(await readScene(entry)), name, search: entry.numDisparities, view: geometry });
  }
  return found;
}

/**
 * Distances of the pixels' points from the middles of their voxels, metres, and the pixels' depths. `unlisted` counts pixels whose
 * voxel is not in the cloud, and `behind` those without a positive disparity.
 */
function errors({ width, height, view }, disparityQ4, middles, millimetres, uncertainty) {
  const { focalPixels, baselineMetres, offset, cx, cy } = view;
  const there = new Set();
  for (let i = 0; i < middles.length; i += 3) there.add([...middles.subarray(i, i + 3)].join());
  const found = [];
  let [unlisted, behind] = [0, 0];
  for (let i = 0; i < width * height; ++i) {
    const d = disparityQ4[i] / 16 + offset;
    if (disparityQ4[i] === -32_768) continue;
    if (d <= 0) {
      ++behind;
      continue;
    }
    const z = (focalPixels * baselineMetres) / d;
    let edge = millimetres / 1000;
    for (let level = 0; level < 7 && edge < (uncertainty * z * z) / (focalPixels * baselineMetres); ++level)
      edge *= 2;
    const point = [((i % width) - cx) / focalPixels, (Math.floor(i / width) - cy) / focalPixels, 1].map(
      (u) => u * z,
    );
    const middle = point.map((metres) => Math.fround((Math.floor(metres / edge) + 0.5) * edge));
    // The engine rounds: a point on a face may be in the next voxel.
    if (!there.has(middle.join())) {
      ++unlisted;
      continue;
    }
    found.push({ z, error: Math.hypot(...point.map((metres, axis) => metres - middle[axis])) });
  }
  return { found, unlisted, behind };
}

const round = (value, digits = 4) => Number(value.toFixed(digits));
const rows = [];
for (const pair of await pairs()) {
  const { width, height, view } = pair;
  for (const [sizeMillimetres, uncertaintyPixels] of FORMS) {
    const { config } = loadConfig({ set: [] });
    const options = engineOptionsFor(config, width, height, pair.search);
    const engine = createEngine({
      ...options,
      geometry: {
        focalPixels: view.focalPixels,
        baselineMetres: view.baselineMetres,
        disparityOffsetPixels: view.offset,
      },
      voxels: { frame: "camera", cx: view.cx, cy: view.cy, sizeMillimetres, uncertaintyPixels },
      backend: "cpu",
      threads: 1,
    });
    const [made, packed] = [[], []];
    let bytes = 0;
    let body = new Uint8Array(0);
    for (let frame = 0; frame < FRAMES; ++frame) {
      await engine.compute(pair.left, pair.right);
      made.push(engine.stageMilliseconds[VOXELS]);
      const start = performance.now();
      const keys = sortedVoxels(listedVoxels(engine.slots[0]));
      body = new Uint8Array(voxelsMaxBytes(keys.length));
      bytes = encodeVoxels(keys, body, 0);
      packed.push(performance.now() - start);
    }
    const middles = decodeVoxels(body.subarray(0, bytes), sizeMillimetres / 1000, width * height);
    const disparityQ4 = engine.slots[0].disparityQ4.slice();
    engine.close();
    const { found, unlisted, behind } = errors(
      pair,
      disparityQ4,
      middles,
      sizeMillimetres,
      uncertaintyPixels,
    );
    const valid = disparityQ4.reduce((count, value) => count + (value === -32_768 ? 0 : 1), 0);
    const sorted = found.map(({ error }) => error).sort((a, b) => a - b);
    const share = found.map(({ error, z }) => error / z).sort((a, b) => a - b);
    rows.push({
      kind: "measured",
      pair: pair.name,
      width,
      height,
      sizeMillimetres,
      uncertaintyPixels,
      points: valid,
      pixelsMeasured: found.length,
      pixelsUnlisted: unlisted,
      pixelsBehind: behind,
      voxels: middles.length / 3,
      bytes,
      int16PointsBytes: 8 * width * height,
      medianErrorMetres: round(quantile(sorted, 0.5)),
      largestErrorMetres: round(sorted.at(-1)),
      medianErrorPercentOfDepth: round(100 * quantile(share, 0.5), 2),
      stageMedianMs: round(
        quantile(
          made.sort((a, b) => a - b),
          0.5,
        ),
        3,
      ),
      stageLeastMs: round(Math.min(...made), 3),
      packMedianMs: round(
        quantile(
          packed.sort((a, b) => a - b),
          0.5,
        ),
        3,
      ),
      packLeastMs: round(Math.min(...packed), 3),
    });
  }
}
console.table(rows.map(({ kind: _, ...row }) => row));
writeResult("voxels", values, {
  what: "small clouds: the CPU backend on one thread, packing in JavaScript",
  rows,
});
