// SPDX-License-Identifier: Apache-2.0
// Renders error maps: the left image, and below it the pixels that are wrong. Takes the ten scenes of the research data
// with the largest share of wrong pixels, and the rendered rooms.
//   node bench/accuracy/error-maps.mjs --out DIR [--worst 10] [--set key=value]... [--preset NAME]
//   node bench/accuracy/error-maps.mjs --sheet FILE.webp --scenes NAME --scenes NAME...   these scenes in one picture, in rows of three
// Yellow to red: off by one to eight thresholds. Blue: no estimate. Black: no ground truth. Needs DEPTHWATT_DATA.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, scoreScene } from "../../dist/edge/eval/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { roomScenes } from "./room-scenes.mjs";
import { researchSets } from "./tuning.mjs";

const { values } = scriptArguments({
  options: {
    out: { type: "string" },
    sheet: { type: "string" },
    scenes: { type: "string", multiple: true, default: [] },
    worst: { type: "string", default: "10" },
    set: { type: "string", multiple: true, default: [] },
    preset: { type: "string" },
  },
});

const INVALID = -32_768;
/** Errors of so many thresholds and more are red. */
const WORST_THRESHOLDS = 8;
const HOLE = [60, 110, 255];
const CELL = { width: 320, height: 240 };
const CELLS_IN_ROW = 3;

/** Colours of one scene: a dim image where the estimate is right. */
function colourErrors({ left, truth, badThresholdPx }, disparityQ4) {
  const pixels = new Uint8Array(3 * truth.length);
  for (let i = 0; i < truth.length; ++i) {
    if (!Number.isFinite(truth[i])) continue;
    const error = Math.abs(disparityQ4[i] / 16 - truth[i]) / badThresholdPx;
    const dim = 40 + left[i] / 3;
    let colour = [dim, dim, dim];
    if (disparityQ4[i] === INVALID) colour = HOLE;
    else if (error > 1) colour = [255, 220 * (1 - Math.min(1, (error - 1) / (WORST_THRESHOLDS - 1))), 0];
    pixels.set(colour, 3 * i);
  }
  return pixels;
}

/** Returns the left image above the errors. */
async function drawScene(scene, { disparityQ4 }) {
  const { width, height, left } = scene;
  const grey = await sharp(left, { raw: { width, height, channels: 1 } })
    .toColourspace("srgb")
    .png()
    .toBuffer();
  const errors = await sharp(colourErrors(scene, disparityQ4), { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
  return sharp({ create: { width, height: 2 * height, channels: 3, background: "black" } })
    .composite([
      { input: grey, left: 0, top: 0 },
      { input: errors, left: 0, top: height },
    ])
    .png()
    .toBuffer();
}

const { config } = loadConfig({
  set: values.set,
  ...(values.preset !== undefined && { preset: values.preset }),
});
const matcher = engineMatcher({ config, fixedNumDisparities: false, frames: 0, createEngine });
const wanted = values.scenes;
const measured = [];
for (const [set, scenes] of Object.entries({ ...(await researchSets()), rooms: await roomScenes() })) {
  for (const scene of scenes) {
    if (wanted.length > 0 && !wanted.includes(scene.name)) continue;
    const matched = await matcher(scene);
    const { badPercent } = scoreScene(scene, matched.disparityQ4, scene.badThresholdPx).valid;
    measured.push({ set, scene, matched, badPercent });
  }
}
const real = measured.filter(({ set }) => set !== "rooms").sort((a, b) => b.badPercent - a.badPercent);
const chosen = [...real.slice(0, Number(values.worst)), ...measured.filter(({ set }) => set === "rooms")];
for (const { set, scene, badPercent } of chosen)
  console.log(`${set.padEnd(22)} ${scene.name.padEnd(22)} ${badPercent.toFixed(2).padStart(6)} % bad`);

if (values.out !== undefined) {
  mkdirSync(values.out, { recursive: true });
  for (const { scene, matched } of chosen) {
    const file = join(values.out, `${scene.name.replaceAll(/\W+/g, "-")}.png`);
    await sharp(await drawScene(scene, matched)).toFile(file);
  }
}

if (values.sheet !== undefined) {
  const cells = wanted.map((name) => chosen.find(({ scene }) => scene.name === name));
  const missing = wanted.filter((_, i) => cells[i] === undefined);
  if (missing.length > 0) throw new Error(`expected --scenes to name scenes, found ${missing.join(", ")}`);
  const step = { x: CELL.width + 4, y: 2 * CELL.height + 8 };
  const composed = [];
  for (const [i, { scene, matched }] of cells.entries()) {
    const input = await sharp(await drawScene(scene, matched))
      .resize(CELL.width, 2 * CELL.height, { fit: "contain", background: "white" })
      .toBuffer();
    composed.push({ input, left: (i % CELLS_IN_ROW) * step.x, top: Math.floor(i / CELLS_IN_ROW) * step.y });
  }
  const size = {
    width: CELLS_IN_ROW * step.x - 4,
    height: Math.ceil(cells.length / CELLS_IN_ROW) * step.y - 8,
  };
  await sharp({ create: { ...size, channels: 3, background: "white" } })
    .composite(composed)
    .webp({ quality: 70 })
    .toFile(values.sheet);
}
