// SPDX-License-Identifier: Apache-2.0
// Fig. 7 of Yu et al. 2010: disparity grows from 0 at the left border to 64 at the right one, the right view is made of the left
// view and this ramp, and ESAW errs about twice as often as ESMP.
//   DEPTHWATT_DATA=FOLDER node bench/papers/exponential-ramp.mjs
//   ... node bench/papers/exponential-ramp.mjs --dataset FOLDER     writes the pairs, for depthwatt eval FOLDER --sweep
// The paper does not say which picture it took: these are Middlebury's.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import sharp from "sharp";
import { mean } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";
import { UNREFINED } from "../shared/unrefined.mjs";

const LARGEST = 64;

/**
 * Settings of section V, and what else was tried for b of ESMP (decision 0040).
 * @type {Record<string, {algorithm: "esaw" | "esmp", parameters: Record<string, number>}>}
 */
export const FORMS = {
  "esaw-9": { algorithm: "esaw", parameters: {} },
  "esaw-5": { algorithm: "esaw", parameters: { steps: 5, basePercent: 260 } },
  "esmp-8, b 2.80 as printed": { algorithm: "esmp", parameters: { basePercent: 280 } },
  "esmp-8, b 1.80": { algorithm: "esmp", parameters: { basePercent: 180 } },
};

/** The right view of a left one whose pixel x has the disparity 64 x / (width - 1); linear between two pixels, rounded. */
function renderRight(left, width, height) {
  const right = new Uint8Array(left.length);
  for (let x = 0; x < width; x++) {
    const at = Math.min(width - 1, x / (1 - LARGEST / (width - 1)));
    const whole = Math.min(width - 2, Math.floor(at));
    for (let y = 0; y < height; y++) {
      for (let c = 0; c < 3; c++) {
        const [a, b] = [left[3 * (y * width + whole) + c], left[3 * (y * width + whole + 1) + c]];
        right[3 * (y * width + x) + c] = Math.round(a + (b - a) * (at - whole));
      }
    }
  }
  return right;
}

/**
 * Percent of all pixels that are off by more than one, after the paper's 3x3 median and nothing else, of each form.
 * @param {string} file
 * @returns {Promise<{width: number, height: number, figures: Record<string, number>}>}
 */
export async function rampFigures(file) {
  const image = sharp(file).removeAlpha().toColourspace("srgb");
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const left = new Uint8Array(data);
  const right = renderRight(left, width, height);
  /** @type {Record<string, number>} */
  const figures = {};
  for (const [name, { algorithm, parameters }] of Object.entries(FORMS)) {
    const engine = createEngine({
      inputWidth: width,
      inputHeight: height,
      width,
      height,
      leftFormat: "RGB8",
      rightFormat: "RGB8",
      leftStrideBytes: 3 * width,
      rightStrideBytes: 3 * width,
      match: { algorithm, halfResolution: false, minDisparity: 0, numDisparities: LARGEST + 1, parameters },
      refine: { ...UNREFINED, median: true },
      backend: "cpu",
      threads: 2,
      slots: 2,
    });
    await engine.compute(left, right);
    const { disparityQ4 } = engine.slots[0];
    let wrong = 0;
    for (let i = 0; i < disparityQ4.length; i++)
      if (Math.abs(disparityQ4[i] / 16 - (LARGEST * (i % width)) / (width - 1)) > 1) wrong++;
    figures[name] = (100 * wrong) / disparityQ4.length;
    engine.close();
  }
  return { width, height, figures };
}

/** The pictures: [set/scene, file]. */
function pictures(data) {
  return ["midd_v2", "midd_2005_2006_third"].flatMap((set) =>
    readdirSync(join(data, set), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => [`${set}/${name}`, join(data, set, name, "left.png")]),
  );
}

/** Pairs and their truth as `depthwatt eval` reads them. */
async function writeDataset(folder, data) {
  const scenes = [];
  for (const [scene, file] of pictures(data)) {
    const image = sharp(file).removeAlpha().toColourspace("srgb");
    const { data: left, info } = await image.raw().toBuffer({ resolveWithObject: true });
    const { width, height } = info;
    const name = basename(scene);
    mkdirSync(join(folder, name), { recursive: true });
    const raw = { raw: { width, height, channels: /** @type {const} */ (3) } };
    await sharp(left, raw)
      .png()
      .toFile(join(folder, name, "left.png"));
    await sharp(renderRight(left, width, height), raw)
      .png()
      .toFile(join(folder, name, "right.png"));
    // Rows of a PFM stand from the bottom up; these are all the same.
    const row = Float32Array.from({ length: width }, (_, x) => (LARGEST * x) / (width - 1));
    const rows = Buffer.concat(new Array(height).fill(Buffer.from(row.buffer)));
    writeFileSync(
      join(folder, name, "disp.pfm"),
      Buffer.concat([Buffer.from(`Pf\n${width} ${height}\n-1\n`), rows]),
    );
    scenes.push({
      name,
      left: `${name}/left.png`,
      right: `${name}/right.png`,
      groundTruth: { path: `${name}/disp.pfm`, scale: 1, invalid: "inf" },
      numDisparities: LARGEST + 1,
      badThresholdPx: 1,
    });
  }
  writeFileSync(join(folder, "dataset.json"), `${JSON.stringify({ scenes }, undefined, 1)}\n`);
}

async function main() {
  const { values } = scriptArguments({
    options: { dataset: { type: "string" }, ...RESULT_OPTIONS },
  });
  const data = process.env.DEPTHWATT_DATA;
  if (data === undefined) {
    console.error("error: DEPTHWATT_DATA names no folder\nhint: set it to the folder that contains midd_v2");
    process.exit(1);
  }
  if (values.dataset !== undefined) return writeDataset(values.dataset, data);
  const rows = [];
  for (const [scene, file] of pictures(data)) {
    const { width, height, figures } = await rampFigures(file);
    rows.push({
      kind: "measured",
      what: "ramp of Fig. 7, % off by more than 1 px",
      scene,
      width,
      height,
      figures,
    });
  }
  const average = Object.fromEntries(
    Object.keys(FORMS).map((name) => [name, mean(rows.map(({ figures }) => figures[name]))]),
  );
  rows.push({ kind: "measured", what: "mean of all scenes", figures: average });
  console.log(average);
  writeResult("exponential-ramp", values, {
    what: "Fig. 7 of Yu et al. 2010: errors of ESAW and ESMP on a ramp",
    rows,
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
