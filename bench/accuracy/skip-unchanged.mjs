// SPDX-License-Identifier: Apache-2.0
// Measures what keeping the disparities of unchanged tiles would save and cost on still cameras:
//   node bench/accuracy/skip-unchanged.mjs [--set key=value]... [--frames N] [--machine NAME] [--load REMARK] [--out FILE]
// The sequence is the synthetic scene: still cameras, moving objects, exact truth. With DEPTHWATT_DATA, a KITTI sequence with
// a moving camera follows. Recomputed tiles take the result of the full computation, so errors are lower bounds.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { SceneRenderer, sceneView } from "../../dist/camera/index.js";
import { readGreyImage } from "../../dist/camera/recordings/images/index.js";
import { mean, median } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { engineOptionsFor } from "../../dist/edge/eval/engine-matcher.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";
import { noisy } from "./perturbed.mjs";

const { values } = scriptArguments({
  options: {
    set: { type: "string", multiple: true, default: [] },
    frames: { type: "string", default: "40" },
    ...RESULT_OPTIONS,
  },
});
const FRAMES = Number(values.frames);
const DISPARITIES = 64;
const TILE = 16;
/** Each frame of this number is computed in full. */
const FULL_EVERY = 10;
const INVALID = -32_768;
const rounded = (value) => Number(value.toFixed(3));

const engineFor = ({ width, height }, set = []) =>
  createEngine(
    engineOptionsFor(loadConfig({ set: [...values.set, ...set] }).config, width, height, DISPARITIES),
  );

/** Mean absolute difference of two images in each tile. */
function tileDifferences(image, other, { width, height }) {
  const columns = Math.ceil(width / TILE);
  const sums = new Float64Array(columns * Math.ceil(height / TILE));
  const counts = new Float64Array(sums.length);
  for (let y = 0; y < height; ++y)
    for (let x = 0; x < width; ++x) {
      const tile = Math.floor(y / TILE) * columns + Math.floor(x / TILE);
      sums[tile] += Math.abs(image[y * width + x] - other[y * width + x]);
      counts[tile]++;
    }
  return sums.map((sum, tile) => sum / counts[tile]);
}

/** Standard deviation of the noise, from the tile of median difference between two frames. */
const noiseOf = (one, other, size) =>
  median([...tileDifferences(one, other, size)]) / (2 / Math.sqrt(Math.PI));

/**
 * Tiles to compute: those within `margin` tiles of a changed left tile, or whose search reaches a changed right tile.
 * @returns one byte per tile
 */
function dilate(changedLeft, changedRight, { width, height }, margin) {
  const [columns, rows] = [Math.ceil(width / TILE), Math.ceil(height / TILE)];
  const reach = Math.ceil(DISPARITIES / TILE);
  const wanted = new Uint8Array(columns * rows);
  for (let y = 0; y < rows; ++y)
    for (let x = 0; x < columns; ++x) {
      const mark = (from, to) => {
        for (let v = Math.max(0, y - margin); v <= Math.min(rows - 1, y + margin); ++v)
          for (let u = Math.max(0, from); u <= Math.min(columns - 1, to); ++u) wanted[v * columns + u] = 1;
      };
      if (changedLeft[y * columns + x]) mark(x - margin, x + margin);
      if (changedRight[y * columns + x]) mark(x - margin, x + reach + margin);
    }
  return wanted;
}

/** Replays a sequence with tiles that are kept. @param limit largest mean difference of an unchanged tile, in sigmas */
function replay(sequence, full, { margin, limit, sigma, exact }) {
  const { size, pairs, truths } = sequence;
  const { width, height } = size;
  const columns = Math.ceil(width / TILE);
  const kept = full[0].slice();
  const reference = { left: pairs[0].left.slice(), right: pairs[0].right.slice() };
  const counts = { pixels: 0, computed: 0, differ: 0, beyondOne: 0, badKept: 0, badFull: 0, withTruth: 0 };
  let largest = 0;
  for (let frame = 1; frame < pairs.length; ++frame) {
    const pair = pairs[frame];
    const highest = exact ? 0 : limit * sigma;
    const changed = (side) =>
      tileDifferences(pair[side], reference[side], size).map((value) => value > highest);
    const wanted =
      frame % FULL_EVERY === 0
        ? new Uint8Array(columns * Math.ceil(height / TILE)).fill(1)
        : dilate(changed("left"), changed("right"), size, margin);
    let [bad, all] = [0, 0];
    for (let y = 0; y < height; ++y)
      for (let x = 0; x < width; ++x) {
        const i = y * width + x;
        if (wanted[Math.floor(y / TILE) * columns + Math.floor(x / TILE)]) {
          kept[i] = full[frame][i];
          reference.left[i] = pair.left[i];
          reference.right[i] = pair.right[i];
          counts.computed++;
        }
        counts.pixels++;
        if (kept[i] !== full[frame][i]) counts.differ++;
        const beyond =
          (kept[i] === INVALID) !== (full[frame][i] === INVALID) || Math.abs(kept[i] - full[frame][i]) > 16;
        if (beyond) bad++;
        all++;
        if (!truths) continue;
        const isBad = (value) => value === INVALID || Math.abs(value / 16 - truths[frame][i]) > 1;
        counts.withTruth++;
        if (isBad(kept[i])) counts.badKept++;
        if (isBad(full[frame][i])) counts.badFull++;
      }
    counts.beyondOne += bad;
    largest = Math.max(largest, (100 * bad) / all);
  }
  const percent = (count) => rounded((100 * count) / counts.pixels);
  return {
    tiles: exact ? "exactly equal" : `${limit} sigma`,
    marginTiles: margin,
    computedPercent: percent(counts.computed),
    differPercent: percent(counts.differ),
    beyondOnePercent: percent(counts.beyondOne),
    beyondOneLargestPercent: rounded(largest),
    ...(truths && {
      badPercentFull: rounded((100 * counts.badFull) / counts.withTruth),
      badPercentKept: rounded((100 * counts.badKept) / counts.withTruth),
    }),
  };
}

/** Computes the changed part of a few frames alone: what paths that begin at its border change, and the time it takes. */
async function regionRow(sequence, full, margin, sigma, set) {
  const { size, pairs } = sequence;
  const columns = Math.ceil(size.width / TILE);
  const rows = { differ: [], beyond: [], share: [], gain: [] };
  const whole = engineFor(size, set);
  for (let frame = 5; frame < pairs.length; frame += 8) {
    const changed = (side) =>
      tileDifferences(pairs[frame][side], pairs[frame - 1][side], size).map((value) => value > 1.4 * sigma);
    const tiles = [...dilate(changed("left"), changed("right"), size, margin).entries()].flatMap(
      ([tile, on]) => (on ? [tile] : []),
    );
    if (tiles.length === 0) continue;
    const bounds = (at) =>
      [Math.min(...tiles.map(at)), Math.max(...tiles.map(at)) + 1].map((tile) => tile * TILE);
    const [x0, x1] = bounds((tile) => tile % columns);
    const [y0, y1] = bounds((tile) => Math.floor(tile / columns));
    const region = {
      x: x0,
      y: y0,
      width: Math.min(x1, size.width) - x0,
      height: Math.min(y1, size.height) - y0,
    };
    const part = engineFor(size, [
      ...set,
      ...Object.entries(region).map(([key, value]) => `region.${key}=${value}`),
    ]);
    const time = async (engine) => {
      const times = [];
      for (let turn = 0; turn < 5; ++turn) {
        await engine.compute(pairs[frame].left, pairs[frame].right);
        times.push(engine.stageMilliseconds.reduce((sum, ms) => sum + (Number.isNaN(ms) ? 0 : ms), 0));
      }
      return median(times);
    };
    rows.gain.push((await time(whole)) / (await time(part)));
    const disparity = part.slots[0].disparityQ4;
    let [differ, beyond] = [0, 0];
    for (let y = region.y; y < region.y + region.height; ++y)
      for (let x = region.x; x < region.x + region.width; ++x) {
        const i = y * size.width + x;
        if (disparity[i] !== full[frame][i]) differ++;
        if (
          (disparity[i] === INVALID) !== (full[frame][i] === INVALID) ||
          Math.abs(disparity[i] - full[frame][i]) > 16
        )
          beyond++;
      }
    const pixels = region.width * region.height;
    rows.differ.push((100 * differ) / pixels);
    rows.beyond.push((100 * beyond) / pixels);
    rows.share.push((100 * pixels) / (size.width * size.height));
    part.close();
  }
  whole.close();
  const average = (list) => rounded(mean(list));
  return {
    marginTiles: margin,
    regionPercent: average(rows.share),
    differPercent: average(rows.differ),
    beyondOnePercent: average(rows.beyond),
    timesFaster: average(rows.gain),
  };
}

async function fullResults({ size, pairs }, set) {
  const engine = engineFor(size, set);
  const images = [];
  for (const { left, right } of pairs) {
    await engine.compute(left, right);
    images.push(engine.slots[0].disparityQ4.slice());
  }
  engine.close();
  return images;
}

async function renderedScene(noiseGrey) {
  const size = { width: 640, height: 480 };
  const renderer = new SceneRenderer(loadNative(), { ...size, view: "rectified", noiseGrey });
  const [pairs, truths] = [[], []];
  for (let frame = 0; frame < FRAMES; ++frame) {
    const { left, right } = await renderer.frame(frame);
    pairs.push({ left: left.data.slice(), right: right.data.slice() });
    truths.push(renderer.truth(frame, "left", sceneView(size.width, size.height)).disparity.data.slice());
  }
  renderer.close();
  return { name: `rendered, still cameras, noise of ${noiseGrey}`, size, pairs, truths };
}

/** The still scene with new noise in every frame, and a textured figure the size of a person at 3 m that walks through it. */
async function walkingFigure() {
  const [size, figure] = [
    { width: 640, height: 480 },
    { width: 90, height: 330, y: 120, disparity: 21 },
  ];
  const renderer = new SceneRenderer(loadNative(), { ...size, view: "rectified", noiseGrey: 0 });
  const { left, right } = await renderer.frame(0);
  const room = renderer.truth(0, "left", sceneView(size.width, size.height)).disparity.data;
  const cloth = (await renderer.frame(50)).left.data;
  renderer.close();
  const [pairs, truths] = [[], []];
  for (let frame = 0; frame < FRAMES; ++frame) {
    const pair = { left: left.data.slice(), right: right.data.slice() };
    const truth = room.slice();
    const start = 40 + 10 * (frame % 50);
    for (let y = figure.y; y < figure.y + figure.height; ++y)
      for (let u = 0; u < figure.width; ++u) {
        const at = y * size.width + start + u;
        // A part of the room serves as the figure's texture.
        const value = cloth[y * size.width + 200 + u];
        pair.left[at] = value;
        pair.right[at - figure.disparity] = value;
        truth[at] = figure.disparity;
      }
    pairs.push({ left: noisy(pair.left, 1.5, 2 * frame + 1), right: noisy(pair.right, 1.5, 2 * frame + 2) });
    truths.push(truth);
  }
  return { name: "still room, a figure walks through, noise of 1.5", size, pairs, truths };
}

async function kitti(folder) {
  const names = readdirSync(join(folder, "left")).sort().slice(0, FRAMES);
  const pairs = [];
  let size;
  for (const name of names) {
    const [left, right] = await Promise.all(
      ["left", "right"].map((side) => readGreyImage(join(folder, side, name))),
    );
    size = { width: left.width, height: left.height };
    pairs.push({ left: left.data, right: right.data });
  }
  return { name: "KITTI odometry, moving camera", size, pairs };
}

const rows = [];
const data = process.env.DEPTHWATT_DATA;
const road = data && join(data, "seq/kitti_odom_seq1");
for (const open of [
  walkingFigure,
  () => renderedScene(1.2),
  () => renderedScene(0),
  ...(road && existsSync(road) ? [() => kitti(road)] : []),
]) {
  const sequence = await open();
  const sigma = noiseOf(sequence.pairs[0].left, sequence.pairs[1].left, sequence.size);
  for (const algorithm of ["sgm", "sad"]) {
    const set = [`match.algorithm=${algorithm}`];
    const full = await fullResults(sequence, set);
    const common = { kind: "measured", sequence: sequence.name, algorithm };
    const settings = [
      { exact: true, margin: 1 },
      ...[1.2, 1.4, 2].map((limit) => ({ limit, margin: 1 })),
      { limit: 1.4, margin: 4 },
    ];
    for (const setting of settings)
      rows.push({ ...common, ...replay(sequence, full, { ...setting, sigma }) });
    if (sequence.truths && sigma > 0)
      for (const margin of [1, 4])
        rows.push({
          ...common,
          tiles: "bounding box computed alone",
          ...(await regionRow(sequence, full, margin, sigma, set)),
        });
  }
}
for (const row of rows) console.log(JSON.stringify(row));
writeResult("skip-unchanged", values, { what: "disparities of unchanged tiles kept", rows });
