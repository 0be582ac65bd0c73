// SPDX-License-Identifier: Apache-2.0
// Measures flicker and errors of the disparity with and without averages over time, of images and of disparities:
//   node bench/accuracy/flicker.mjs [--sigma N]... [--scene NAME]... [--set key=value]... [--machine NAME] [--load REMARK] [--out FILE]
// Still pairs are those of the research sets (DEPTHWATT_DATA) with new noise in every frame, of sigma 2 or as given. The moving sequence
// is the synthetic scene, which has a ground truth in every frame, with its sensor noise and with additional noise.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { SceneRenderer, sceneView } from "../../dist/camera/index.js";
import { mean, quantile } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { engineOptionsFor } from "../../dist/edge/eval/engine-matcher.js";
import { readDataset, readScene } from "../../dist/edge/eval/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";
import { noisy } from "./perturbed.mjs";

const { values } = scriptArguments({
  options: {
    sigma: { type: "string", multiple: true, default: ["2"] },
    scene: { type: "string", multiple: true },
    set: { type: "string", multiple: true, default: [] },
    ...RESULT_OPTIONS,
  },
});
const SIGMAS = values.sigma.map(Number);
const FORMS = {
  off: [],
  temporal: ["refine.temporal=true"],
  average: ["match.average=true"],
  both: ["refine.temporal=true", "match.average=true"],
};
const [SETTLING, FRAMES] = [4, 20];
const MOVING_FRAMES = 24;

const withNoise = (image, sigma, seed) => (sigma > 0 ? noisy(image, sigma, seed) : image);

/** Disparities of a sequence, 1/16 px, one image per frame. */
async function computed(pairs, { width, height, numDisparities }, settings) {
  const { config } = loadConfig({ set: [...values.set, ...settings] });
  const engine = createEngine(engineOptionsFor(config, width, height, numDisparities));
  const images = [];
  for (const { left, right } of pairs) {
    await engine.compute(left, right);
    images.push(engine.slots[0].disparityQ4.slice());
  }
  engine.close();
  return images;
}

const isBad = (disparityQ4, truth, thresholdPx) =>
  disparityQ4 === -32_768 || Math.abs(disparityQ4 / 16 - truth) > thresholdPx;

/** Percent of the pixels with a truth (and in a mask) whose disparity is wrong, over all frames. */
function badPercent(images, truths, thresholdPx, masks) {
  let bad = 0;
  let all = 0;
  for (const [frame, image] of images.entries()) {
    const truth = truths[frame];
    for (let i = 0; i < image.length; ++i) {
      if (!Number.isFinite(truth[i]) || (masks && !masks[frame][i])) continue;
      ++all;
      if (isBad(image[i], truth[i], thresholdPx)) ++bad;
    }
  }
  return (100 * bad) / all;
}

/** Standard deviation over time of each pixel that is valid in every frame, pixels. */
function deviations(images) {
  const all = [];
  for (let i = 0; i < images[0].length; ++i) {
    const seen = images.map((image) => image[i]);
    if (seen.includes(-32_768)) continue;
    const middle = mean(seen);
    all.push(Math.sqrt(mean(seen.map((value) => (value - middle) ** 2))) / 16);
  }
  return all.sort((a, b) => a - b);
}

const rounded = (value) => Number(value.toFixed(3));

async function stillRow(scene, sigma) {
  const pairs = Array.from({ length: SETTLING + FRAMES }, (_, frame) => ({
    left: withNoise(scene.left, sigma, 2 * frame + 1),
    right: withNoise(scene.right, sigma, 2 * frame + 2),
  }));
  const row = {
    kind: "measured",
    what: `still pair, new noise of sigma ${sigma} in every frame`,
    scene: scene.name,
  };
  for (const [form, settings] of Object.entries(FORMS)) {
    const images = (await computed(pairs, scene, settings)).slice(SETTLING);
    const spread = deviations(images);
    row[form] = {
      medianDeviationPx: rounded(quantile(spread, 0.5)),
      meanDeviationPx: rounded(mean(spread)),
      p90DeviationPx: rounded(quantile(spread, 0.9)),
      badPercent: rounded(
        badPercent(
          images,
          images.map(() => scene.truth),
          scene.badThresholdPx,
        ),
      ),
    };
  }
  return row;
}

async function movingRow(sigma) {
  const [width, height] = [640, 480];
  const renderer = new SceneRenderer(loadNative(), { width, height, view: "rectified" });
  const pairs = [];
  const truths = [];
  for (let frame = 0; frame < MOVING_FRAMES; ++frame) {
    const { left, right } = await renderer.frame(frame);
    pairs.push({
      left: withNoise(left.data.slice(), sigma, 2 * frame + 1),
      right: withNoise(right.data.slice(), sigma, 2 * frame + 2),
    });
    truths.push(renderer.truth(frame, "left", sceneView(width, height)).disparity.data.slice());
  }
  renderer.close();
  const moved = truths.map((truth, frame) =>
    truth.map((value, i) => (frame > 0 && Math.abs(value - truths[frame - 1][i]) > 0.25 ? 1 : 0)),
  );
  const scene = { width, height, numDisparities: 64 };
  const row = {
    kind: "measured",
    what: `synthetic scene, moving things, sigma ${sigma} more`,
    scene: "synthetic",
  };
  for (const [form, settings] of Object.entries(FORMS)) {
    const images = (await computed(pairs, scene, settings)).slice(SETTLING);
    row[form] = {
      badPercent: rounded(badPercent(images, truths.slice(SETTLING), 1)),
      badPercentMoved: rounded(badPercent(images, truths.slice(SETTLING), 1, moved.slice(SETTLING))),
    };
  }
  row.movedPercent = rounded(100 * mean(moved.slice(SETTLING).map((one) => mean([...one]))));
  return row;
}

const rows = [];
for (const sigma of values.scene === undefined ? [0, ...SIGMAS] : []) rows.push(await movingRow(sigma));
const data = process.env.DEPTHWATT_DATA;
for (const name of data && existsSync(data) ? readdirSync(data).sort() : []) {
  if (!existsSync(join(data, name, "dataset.json"))) continue;
  for (const entry of await readDataset(join(data, name))) {
    if (values.scene?.includes(entry.name) === false) continue;
    const scene = await readScene(entry);
    if (scene.format !== undefined && scene.format !== "GREY") continue;
    for (const sigma of SIGMAS) rows.push(await stillRow(scene, sigma));
  }
}
for (const { scene, what, ...forms } of rows) {
  console.log(`${scene.padEnd(14)} ${what}`);
  for (const form of Object.keys(FORMS)) console.log(`  ${form.padEnd(8)} ${JSON.stringify(forms[form])}`);
}
writeResult("flicker", values, { what: "flicker and errors with refine.temporal and match.average", rows });
