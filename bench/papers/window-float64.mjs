// SPDX-License-Identifier: Apache-2.0
// Tables 7.2 and 7.3 of Prehn 2007 on Middlebury v2: the matchers sad and pyramid, the same in double precision from the equations,
// and what the thesis leaves open: `node bench/papers/window-float64.mjs [--only REGEX]`
// (needs DEPTHWATT_DATA; REGEX of "sad 3x3 float64" and the like). Percent of non-occluded pixels off by more than 1 px.
import { join } from "node:path";
import { readRgbImage } from "../../dist/camera/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { readDataset, readScene } from "../../dist/edge/eval/index.js";
import { score } from "../../dist/edge/eval/score.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: { only: { type: "string" }, ...RESULT_OPTIONS } });
const wanted = new RegExp(values.only ?? "");
const folder = join(process.env.DEPTHWATT_DATA ?? ".", "midd_v2");
const SCENES = ["cones", "teddy", "tsukuba", "venus"];
/** Table 7.1: both ends included. Its sizes belong to other scenes. */
const LABELS = { tsukuba: 16, venus: 20, teddy: 60, cones: 60 };
const WEIGHTS = { hueWeight: 20, saturationWeight: 30, valueWeight: 50 };
const PAPER = {
  sad: {
    3: [36.5, 45.2, 22.5, 43.0],
    5: [23.0, 33.4, 14.9, 31.9],
    7: [18.2, 27.8, 11.8, 25.3],
  },
  pyramid: {
    3: [27.6, 36.0, 14.3, 32.7],
    5: [21.3, 29.2, 10.7, 24.3],
    7: [19.3, 26.5, 9.67, 20.3],
  },
};

const clamped = (value, end) => Math.max(0, Math.min(end - 1, value));

/**
 * Other meanings of "HSV": saturation and value (or their substitute), 0 to 255, of the largest and smallest channel.
 */
const COLOURS = {
  HSV: (max, min) => [max > 0 ? (255 * (max - min)) / max : 0, max],
  "HSV, saturation max - min": (max, min) => [max - min, max],
  HSL: (max, min) => [
    max > min ? (255 * (max - min)) / (255 - Math.abs(max + min - 255)) : 0,
    (max + min) / 2,
  ],
  HSI: (_max, min, mean) => [mean > 0 ? 255 * (1 - min / mean) : 0, mean],
};

/** Hue 0 to 6, saturation and value 0 to 255, as planes. */
function toHsv(rgb, { colours = "HSV", exchanged = false } = {}) {
  const pixels = rgb.length / 3;
  const planes = [0, 1, 2].map(() => new Float64Array(pixels));
  for (let i = 0; i < pixels; ++i) {
    const [first, g, third] = rgb.subarray(3 * i, 3 * i + 3);
    const [r, b] = exchanged ? [third, first] : [first, third];
    const max = Math.max(r, g, b);
    const chroma = max - Math.min(r, g, b);
    let hue = 0;
    if (chroma > 0)
      hue = r === max ? (g - b) / chroma : g === max ? 2 + (b - r) / chroma : 4 + (r - g) / chroma;
    planes[0][i] = hue < 0 ? hue + 6 : hue;
    [planes[1][i], planes[2][i]] = COLOURS[colours](max, max - chroma, (r + g + b) / 3);
  }
  return planes;
}

/** Weighted planes whose absolute differences add up, in grey values. hue: "square", "no wrap". */
function weighted(rgb, hue, choices) {
  const [h, s, v] = toHsv(rgb, choices);
  const [h0, s0, v0] = choices.weights ?? [0.2, 0.3, 0.5];
  const weight = { h: h0, s: s0, v: v0 };
  const rest = [s.map((x) => weight.s * x), v.map((x) => weight.v * x)];
  const circle = choices.circle ?? 256;
  if (hue === "no wrap") return [h.map((x) => (weight.h * circle * x) / 6), ...rest];
  const side = (circle / 4) * weight.h;
  const along = (x) => {
    const t = (4 * x) / 6;
    const [q, f] = [Math.floor(t), side * (t - Math.floor(t))];
    return [
      [f, 0],
      [side, f],
      [side - f, side],
      [0, side - f],
    ][q];
  };
  const planes = [h.map((x) => along(x)[0]), h.map((x) => along(x)[1]), ...rest];
  const unit = choices.imageUnit;
  return unit === undefined ? planes : planes.map((plane) => plane.map((x) => Math.round(x / unit) * unit));
}

/** hue "circle": the shorter way around, which no sum of differences gives. */
function hueCircle(leftRgb, rightRgb) {
  const [left, right] = [toHsv(leftRgb)[0], toHsv(rightRgb)[0]];
  return (p, q) => {
    const apart = Math.abs(left[p] - right[q]);
    return (0.2 * 256 * Math.min(apart, 6 - apart)) / 6;
  };
}

/** differences "whole": what abs() of integers leaves of them, hue by the shorter way around. */
function wholeDifferences(leftRgb, rightRgb) {
  const [left, right] = [toHsv(leftRgb), toHsv(rightRgb)];
  return (p, q) => {
    const apart = Math.abs(left[0][p] - right[0][q]);
    const [s, v] = [1, 2].map((k) => Math.abs(left[k][p] - right[k][q]));
    const hue = (256 * Math.min(apart, 6 - apart)) / 6;
    return 0.2 * Math.floor(hue) + 0.3 * Math.floor(s) + 0.5 * Math.floor(v);
  };
}

function float64Sad(scene, side, choices) {
  const { width, height, leftRgb, rightRgb } = scene;
  const pixels = width * height;
  const kind = choices.hue === "circle" ? "no wrap" : choices.hue;
  const [left, right] = [weighted(leftRgb, kind, choices), weighted(rightRgb, kind, choices)];
  const circle = choices.hue === "circle" ? hueCircle(leftRgb, rightRgb) : undefined;
  const whole = choices.differences === "whole" ? wholeDifferences(leftRgb, rightRgb) : undefined;
  const reach = (side - 1) / 2;
  const [best, winners] = [new Float64Array(pixels).fill(Infinity), new Int16Array(pixels)];
  const [costs, rows] = [new Float64Array(pixels), new Float64Array(pixels)];
  for (let d = 0; d < LABELS[scene.name] - (choices.fewer ?? 0); ++d) {
    for (let p = 0; p < pixels; ++p) {
      const q = p - Math.min(d, p % width);
      let sum = whole ? whole(p, q) : circle ? circle(p, q) : 0;
      for (let k = whole ? left.length : circle ? 1 : 0; k < left.length; ++k)
        sum += Math.abs(left[k][p] - right[k][q]);
      costs[p] = Math.min(sum, choices.limit);
    }
    for (let p = 0; p < pixels; ++p) {
      const x = p % width;
      let sum = 0;
      for (let i = -reach; i <= reach; ++i) sum += costs[p - x + clamped(x + i, width)];
      rows[p] = sum;
    }
    for (let p = 0; p < pixels; ++p) {
      const [x, y] = [p % width, Math.floor(p / width)];
      if (choices.rim === "0" && (x < reach || y < reach || x + reach >= width || y + reach >= height))
        continue;
      let sum = 0;
      for (let j = -reach; j <= reach; ++j) sum += rows[clamped(y + j, height) * width + x];
      // Equal sums differ by what rounding left.
      if (sum < best[p] - 1e-9) [best[p], winners[p]] = [sum, d];
    }
  }
  return winners;
}

/** unit: what the means are rounded to, in grey values; 0: not at all. */
function halved({ width, height, planes }, unit) {
  const [w, h] = [(width + 1) >> 1, (height + 1) >> 1];
  const at = (x, y) => Math.min(y, height - 1) * width + Math.min(x, width - 1);
  const half = planes.map((plane) =>
    Float64Array.from({ length: w * h }, (_, p) => {
      const [x, y] = [2 * (p % w), 2 * Math.floor(p / w)];
      const mean =
        (plane[at(x, y)] + plane[at(x + 1, y)] + plane[at(x, y + 1)] + plane[at(x + 1, y + 1)]) / 4;
      return unit > 0 ? Math.round(mean / unit) * unit : mean;
    }),
  );
  return { width: w, height: h, planes: half };
}

function float64Pyramid(scene, side, choices) {
  const { width, height } = scene;
  const levels = 3;
  const images = [scene.leftRgb, scene.rightRgb].map((rgb) => {
    const all = [{ width, height, planes: weighted(rgb, "square", choices) }];
    for (let v = 0; v < levels; ++v) all.push(halved(all[v], choices.unit));
    return all;
  });
  const reach = (side - 1) / 2;
  const max = LABELS[scene.name] - 1;
  let above;
  for (let v = levels; v >= 0; --v) {
    const [left, right] = [images[0][v], images[1][v]];
    const { width: w, height: h } = left;
    let highest = v < levels ? Math.ceil(max / 2 ** v) : max >> v;
    if (choices.powerOfTwo) highest = v < levels ? Infinity : 2 ** Math.ceil(Math.log2(highest + 1)) - 1;
    const map = new Int16Array(w * h);
    for (let p = 0; p < map.length; ++p) {
      const [x, y] = [p % w, Math.floor(p / w)];
      const guess = v < levels ? 2 * above[(y >> 1) * ((w + 1) >> 1) + (x >> 1)] : undefined;
      const first = guess === undefined ? 0 : Math.max(choices.powerOfTwo ? -1 : 0, guess - 1);
      const last = guess === undefined ? highest : Math.min(highest, guess + 2);
      let [least, best, second, place, own] = [Infinity, 0, Infinity, 0, Infinity];
      for (let d = first; d <= last; ++d) {
        let sum = 0;
        for (let j = -reach; j <= reach; ++j) {
          const row = clamped(y + j, h) * w;
          for (let i = -reach; i <= reach; ++i) {
            const [a, b] = [row + clamped(x + i, w), row + clamped(x + i - d, w)];
            for (let k = 0; k < left.planes.length; ++k)
              sum += Math.abs(left.planes[k][a] - right.planes[k][b]);
          }
        }
        if (d === guess) own = sum;
        if (sum <= least + 1e-9) [second, place, least, best] = [least, best, Math.min(sum, least), d];
        else if (sum <= second + 1e-9) [second, place] = [Math.min(sum, second), d];
      }
      const near = 100 * (second - least) < choices.peakRatio * second * Math.abs(place - best);
      map[p] =
        guess !== undefined && best !== guess && own < Infinity && second < Infinity && near ? guess : best;
    }
    above = map;
  }
  return above;
}

function fixed(scene, algorithm, side) {
  const { width, height, leftRgb, rightRgb } = scene;
  const grey = new Uint8Array(width * height);
  const disparityQ4 = new Int16Array(width * height);
  loadNative().stages.match({
    variant: "scalar",
    threads: 2,
    algorithm,
    width,
    height,
    minDisparity: 0,
    numDisparities: LABELS[scene.name],
    leftRight: false,
    left: grey,
    right: grey,
    leftRgb,
    rightRgb,
    parameters: { windowWidth: side, windowHeight: side, ...WEIGHTS },
    disparityQ4,
    confidence: new Uint8Array(width * height),
  });
  return disparityQ4;
}

const inSixteenths = (winners) => winners.map((d) => 16 * d);
const scenes = [];
for (const entry of await readDataset(folder)) {
  const [left, right] = await Promise.all(
    [entry.left, entry.right].map((path) => readRgbImage(join(folder, path))),
  );
  scenes.push({
    ...(await readScene(entry)),
    leftRgb: new Uint8Array(left.data),
    rightRgb: new Uint8Array(right.data),
  });
}
scenes.sort((a, b) => SCENES.indexOf(a.name) - SCENES.indexOf(b.name));

const rows = [];
function report(matcher, what, side, of, kind = "measured") {
  if (!wanted.test(`${matcher} ${side}x${side} ${what}`)) return;
  const bad = of();
  const apart = bad.map((value, i) => value - (PAPER[matcher]?.[side]?.[i] ?? Number.NaN));
  rows.push({ kind, matcher, window: side, what, badPercent: bad.map((value) => Number(value.toFixed(3))) });
  const text = (list) => list.map((value) => value.toFixed(2).padStart(6)).join("");
  console.log(`${matcher} ${side}x${side} ${what.padEnd(40)}${text(bad)}   from the table${text(apart)}`);
}
const badPercents = (computeMap) => () =>
  scenes.map((scene) => score(computeMap(scene), scene.truth, scene.masks.get("nonocc"), 1).badPercent);

const OTHER_COLOURS = ["HSV, saturation max - min", "HSL", "HSI"].map((colours) => ({ colours }));
const CHOSEN = { hue: "square", rim: "computed", limit: 63.75 };
for (const side of [3, 5, 7]) {
  report("sad", "table 7.2", side, () => PAPER.sad[side], "published");
  report(
    "sad",
    "fixed point",
    side,
    badPercents((scene) => fixed(scene, "sad", side)),
  );
  const others = [{}, { hue: "circle" }, { hue: "no wrap" }, { rim: "0" }, { limit: Infinity }];
  if (side === 3)
    others.push(
      ...OTHER_COLOURS,
      { hue: "no wrap", exchanged: true },
      { circle: 180 },
      { circle: 360 },
      { hue: "no wrap", circle: 180 },
      { differences: "whole" },
      { limit: 50 },
      { fewer: 1 },
      { weights: [0.3, 0.2, 0.5] },
    );
  for (const other of others) {
    const what = ["float64", ...Object.entries(other).map(([key, value]) => `${key} ${value}`)].join(", ");
    const choices = { ...CHOSEN, ...other };
    report(
      "sad",
      what,
      side,
      badPercents((scene) => inSixteenths(float64Sad(scene, side, choices))),
    );
  }
}
for (const side of [3, 5, 7]) {
  report("pyramid", "table 7.3", side, () => PAPER.pyramid[side], "published");
  report(
    "pyramid",
    "fixed point",
    side,
    badPercents((scene) => fixed(scene, "pyramid", side)),
  );
  // Measures the effect of rounding: of the image alone, and of its copies to 1/8 to 1/64 of a grey value.
  for (const other of [
    {},
    { imageUnit: 1 / 4 },
    { unit: 1 / 8 },
    { unit: 1 / 16 },
    { unit: 1 / 32 },
    { unit: 1 / 64 },
    { peakRatio: 0 },
    { peakRatio: 3 },
    { peakRatio: 7 },
    { powerOfTwo: true },
    ...(side === 3 ? OTHER_COLOURS.slice(0, 1) : []),
  ]) {
    const what = ["float64", ...Object.entries(other).map(([key, value]) => `${key} ${value}`)].join(", ");
    const choices = { peakRatio: 5, powerOfTwo: false, unit: 0, ...other };
    report(
      "pyramid",
      what,
      side,
      badPercents((scene) => inSixteenths(float64Pyramid(scene, side, choices))),
    );
  }
}

writeResult("window-sad", values, {
  what: "sad and pyramid, Middlebury v2, nonocc",
  scenes: SCENES,
  labels: LABELS,
  rows,
});
