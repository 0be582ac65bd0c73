// SPDX-License-Identifier: Apache-2.0
// ESAW and ESMP in double precision from the equations of Yu et al. 2010, next to the fixed-point stage, on Middlebury v2:
// `node bench/papers/exponential-float64.mjs [--variants]` (needs DEPTHWATT_DATA). --variants also tries what
// the paper leaves open: how colours are compared, the border, candidates outside the right image, d_m.
import { join } from "node:path";
import { readRgbImage } from "../../dist/camera/index.js";
import { mean } from "../../dist/core/statistics.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { readDataset, readScene } from "../../dist/edge/eval/dataset.js";
import { score } from "../../dist/edge/eval/score.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: { variants: { type: "boolean" }, ...RESULT_OPTIONS } });
const folder = join(process.env.DEPTHWATT_DATA ?? ".", "midd_v2");
const MASKS = ["nonocc", "all", "disc"];
/** Labels per scene as the papers count them: 450x375x60 for teddy and cones. */
const LABELS = { tsukuba: 16, venus: 20, teddy: 60, cones: 60 };

/** Table III; but b of ESMP, which is printed as 2.80: see docs/decisions/0040-gaps-in-papers-are-filled-by-measurement.md. */
const PRESETS = {
  "esaw-5": { steps: 5, base: 2.6, gammaColour: 17, gammaDistance: 36, tau: 12, lambda: 1, slope: 0, eta: 0 },
  "esaw-9": { steps: 9, base: 1.9, gammaColour: 17, gammaDistance: 36, tau: 12, lambda: 1, slope: 0, eta: 0 },
  "esmp-8": {
    steps: 8,
    base: 1.8,
    gammaColour: 18,
    gammaDistance: 29,
    tau: 17,
    lambda: 0.15,
    slope: 1,
    eta: 0.0375,
  },
};
/** Table IV. */
const PAPER = {
  "esaw-5": [
    [1.4, 2.4, 7.1],
    [1.6, 2.6, 12.9],
    [9.4, 16.0, 19.4],
    [8.6, 15.6, 17.9],
  ],
  "esaw-9": [
    [1.9, 2.5, 9.7],
    [1.0, 1.7, 6.9],
    [8.5, 14.2, 18.7],
    [6.6, 12.7, 14.4],
  ],
  "esmp-8": [
    [1.4, 1.9, 7.1],
    [0.4, 1.0, 2.7],
    [8.6, 15.2, 19.5],
    [5.6, 12.5, 13.2],
  ],
};
const CHOSEN = { colour: "rgb max", border: "no weight", outside: "clamped", labels: -1 };

/** CIELab of sRGB, L 0..100. */
function lab([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map((v) =>
    v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4,
  );
  const f = (t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.412453 * r + 0.35758 * g + 0.180423 * b) / 0.950456);
  const y = f(0.212671 * r + 0.71516 * g + 0.072169 * b);
  const z = f((0.019334 * r + 0.119193 * g + 0.950227 * b) / 1.088754);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** Three numbers a pixel, and how two pixels' numbers differ. */
function colours(rgb, how) {
  const samples = Float64Array.from(rgb);
  if (how.startsWith("lab")) {
    for (let i = 0; i < samples.length; i += 3) {
      samples.set(lab(rgb.subarray(i, i + 3)), i);
      if (how === "lab, L to 255") samples[i] *= 2.55;
    }
  }
  const euclidean = how !== "rgb max";
  return (p, q) => {
    const a = Math.abs(samples[3 * p] - samples[3 * q]);
    const b = Math.abs(samples[3 * p + 1] - samples[3 * q + 1]);
    const c = Math.abs(samples[3 * p + 2] - samples[3 * q + 2]);
    return euclidean ? Math.sqrt(a * a + b * b + c * c) : Math.max(a, b, c);
  };
}

/** Eq. 17 to 21 on every pixel's labels. */
function toMessages(cells, labels, slope, eta) {
  for (let at = 0; at < cells.length; at += labels) {
    let least = cells[at];
    for (let d = 1; d < labels; ++d) least = Math.min(least, cells[at + d]);
    const limit = least + eta;
    for (let d = 1; d < labels; ++d) cells[at + d] = Math.min(cells[at + d - 1] + slope, cells[at + d]);
    cells[at + labels - 1] = Math.min(cells[at + labels - 1], limit);
    for (let d = labels - 2; d >= 0; --d)
      cells[at + d] = Math.min(cells[at + d + 1] + slope, cells[at + d], limit);
  }
}

/** Winners of the left image, before the median. */
function float64Winners(scene, preset, labels, choices) {
  const { width, height, left, right, leftRgb } = scene;
  const pixels = width * height;
  let cells = new Float64Array(pixels * labels);
  for (let p = 0; p < pixels; ++p) {
    const x = p % width;
    for (let d = 0; d < labels; ++d) {
      const difference = Math.min(preset.tau, Math.abs(left[p] - right[p - Math.min(d, x)]));
      cells[p * labels + d] =
        preset.lambda * (x - d < 0 && choices.outside === "tau" ? preset.tau : difference);
    }
  }
  const differ = colours(leftRgb, choices.colour);
  const weight = (p, q, s) => Math.exp(-differ(p, q) / preset.gammaColour - s / preset.gammaDistance);
  let other = new Float64Array(cells.length);
  const eta = preset.eta * (labels + choices.labels);
  const pass = (dx, dy, s) => {
    for (let p = 0; p < pixels; ++p) {
      const x = p % width;
      const y = (p - x) / width;
      const neighbour = (sign) => {
        const [nx, ny] = [x + sign * dx * s, y + sign * dy * s];
        const [cx, cy] = [Math.max(0, Math.min(width - 1, nx)), Math.max(0, Math.min(height - 1, ny))];
        const inside = cx === nx && cy === ny;
        const q = cy * width + cx;
        return { q, w: inside || choices.border === "clamped" ? weight(p, q, s) : 0 };
      };
      const [before, after] = [neighbour(-1), neighbour(1)];
      const sum = 1 + before.w + after.w;
      const [wb, wc, wa] = [before.w / sum, 1 / sum, after.w / sum];
      const [b, c, a] = [before.q * labels, p * labels, after.q * labels];
      for (let d = 0; d < labels; ++d)
        other[c + d] = wb * cells[b + d] + wc * cells[c + d] + wa * cells[a + d];
    }
    [cells, other] = [other, cells];
  };
  for (let t = 1; t <= preset.steps; ++t) {
    const s = Math.round(preset.base ** (t - 1));
    if (preset.slope > 0) toMessages(cells, labels, preset.slope, eta);
    pass(1, 0, s);
    if (preset.slope > 0) toMessages(cells, labels, preset.slope, eta);
    pass(0, 1, s);
  }
  const winners = new Int16Array(pixels);
  for (let p = 0; p < pixels; ++p) {
    let best = 0;
    for (let d = 1; d < labels; ++d) if (cells[p * labels + d] < cells[p * labels + best]) best = d;
    winners[p] = best;
  }
  return winners;
}

function fixedWinners(scene, preset, labels) {
  const { width, height, left, right, leftRgb } = scene;
  const maps = ["disparityQ4", "disparity", "rightDisparity"].map((name) => [
    name,
    new Int16Array(width * height),
  ]);
  const unit = preset.slope > 0 ? 20000 : 65535 / preset.tau;
  const images = {
    left,
    right,
    leftRgb,
    ...Object.fromEntries(maps),
    confidence: new Uint8Array(width * height),
  };
  loadNative().stages.exponential({
    variant: "scalar",
    threads: 2,
    width,
    height,
    minDisparity: 0,
    numDisparities: labels,
    subpixel: false,
    steps: preset.steps,
    basePercent: Math.round(100 * preset.base),
    gammaColour: preset.gammaColour,
    gammaDistance: preset.gammaDistance,
    truncation: preset.tau,
    cost: Math.floor(preset.lambda * unit + 1e-6),
    slope: preset.slope * unit,
    cap: Math.round(preset.eta * unit * (labels - 1)) * Math.sign(preset.slope),
    ...images,
  });
  return images.disparity;
}

/** Step 4: 3 x 3, replicated border; in 1/16 px. */
function medianQ4(whole, width, height) {
  return Int16Array.from(whole, (_, p) => {
    const nine = [];
    for (let j = -1; j <= 1; ++j) {
      for (let i = -1; i <= 1; ++i) {
        const x = Math.max(0, Math.min(width - 1, (p % width) + i));
        const y = Math.max(0, Math.min(height - 1, Math.trunc(p / width) + j));
        nine.push(whole[y * width + x]);
      }
    }
    return 16 * nine.sort((a, b) => a - b)[4];
  });
}

const scenes = [];
for (const entry of await readDataset(folder)) {
  const { data } = await readRgbImage(join(folder, entry.left));
  scenes.push({ ...(await readScene(entry)), leftRgb: new Uint8Array(data) });
}
const rows = [];
function report(what, name, selectWinners) {
  const bad = scenes.map((scene) => {
    const map = medianQ4(selectWinners(scene, LABELS[scene.name]), scene.width, scene.height);
    return MASKS.map((mask) => score(map, scene.truth, scene.masks.get(mask), 1).badPercent);
  });
  const numbers = bad
    .map((three) => three.map((value) => value.toFixed(2).padStart(5)).join(" "))
    .join(" | ");
  console.log(`${name} ${what.padEnd(44)} ${numbers} | ${mean(bad.flat()).toFixed(3)}`);
  rows.push({
    kind: what === "paper" ? "published" : "measured",
    preset: name,
    what,
    badPercent: bad,
    mean: mean(bad.flat()),
  });
}
for (const [name, preset] of Object.entries(PRESETS)) {
  rows.push({
    kind: "published",
    preset: name,
    what: "paper, Table IV",
    badPercent: PAPER[name],
    mean: mean(PAPER[name].flat()),
  });
  console.log(`${name} paper: mean ${mean(PAPER[name].flat()).toFixed(3)}`);
  report("fixed point", name, (scene, labels) => fixedWinners(scene, preset, labels));
  report("float64", name, (scene, labels) => float64Winners(scene, preset, labels, CHOSEN));
  if (!values.variants) continue;
  const printed = { ...preset, base: 2.8 };
  if (preset.slope > 0)
    report("float64, b = 2.80 as printed", name, (scene, labels) =>
      float64Winners(scene, printed, labels, CHOSEN),
    );
  const others = [
    { colour: "lab" },
    { colour: "lab, L to 255" },
    { colour: "rgb" },
    { border: "clamped" },
    { outside: "tau" },
    { labels: 0 },
  ];
  for (const other of others.filter(({ labels }) => labels !== 0 || preset.slope > 0)) {
    const what = Object.entries(other)
      .map(([key, value]) => `${key} ${value}`)
      .join(", ");
    report(`float64, ${what}`, name, (scene, labels) =>
      float64Winners(scene, preset, labels, { ...CHOSEN, ...other }),
    );
  }
}
writeResult("exponential", values, {
  what: "ESAW and ESMP, Middlebury v2",
  labels: LABELS,
  chosen: CHOSEN,
  rows,
});
