// SPDX-License-Identifier: Apache-2.0
// depthwatt compare: one pair of pictures matched by two presets, disparity and error maps side by side.
import type { Command } from "commander";
import {
  checkColourName,
  colourDisparity,
  disparityFromQ4,
  type FloatImage,
  type RgbImage,
  readDisparity,
  writeImage,
} from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import { positiveNumber } from "../../cli/numbers.js";
import {
  type ConfigOptions,
  checkOutputs,
  describeArguments,
  loadFlagConfig,
  withConfig,
  withExamples,
  withJson,
} from "../../cli/options.js";
import { columns, note, printJson, printLine } from "../../cli/output.js";
import { type SettingOptions, settingFlags, withSettingFlags } from "../../cli/setting-flags.js";
import { nearestName } from "../../config/index.js";
import { score } from "../../eval/index.js";
import { type ForeignMatched, matchForeign } from "../../match/match-foreign.js";
import { computePair, openPair, readPair } from "../../match/match-pair.js";
import { findPreset } from "../../presets/index.js";

const SETTINGS = ["calibration", "numDisparities", "backend"] as const;

interface CompareOptions extends ConfigOptions, SettingOptions<(typeof SETTINGS)[number]> {
  a: string;
  b: string;
  output: string;
  foreign?: string;
  truth?: string;
  truthScale?: string;
  threshold: string;
  json?: boolean;
}

/** An error of so many thresholds, and any larger one, has the last colour. */
const MAX_THRESHOLDS = 3;
const GAP = 8;

/** White is right, yellow to red is wrong, violet has no estimate, black nothing to hold it against. */
function errorMap(estimate: FloatImage, truth: FloatImage, threshold: number): RgbImage {
  const { width, height } = truth;
  const data = new Uint8Array(3 * width * height);
  for (let i = 0; i < width * height; ++i) {
    const [got, expected] = [estimate.data[i]!, truth.data[i]!];
    if (!Number.isFinite(expected)) continue;
    const error = Math.abs(got - expected);
    if (!Number.isFinite(got)) data.set([128, 0, 255], 3 * i);
    else if (error <= threshold) data.fill(Math.round(255 - (75 * error) / threshold), 3 * i, 3 * i + 3);
    else {
      const share = Math.min(1, (error / threshold - 1) / (MAX_THRESHOLDS - 1));
      data.set([255, Math.round(200 * (1 - share)), 0], 3 * i);
    }
  }
  return { data, width, height };
}

/** Two above two, with a white line between them. */
function sheet(images: readonly (readonly [RgbImage, RgbImage])[]): RgbImage {
  const { width, height } = images[0]![0];
  const whole = { width: 2 * width + GAP, height: images.length * (height + GAP) - GAP };
  const data = new Uint8Array(3 * whole.width * whole.height).fill(255);
  for (const [row, pair] of images.entries()) {
    for (const [column, image] of pair.entries()) {
      for (let y = 0; y < height; ++y) {
        const to = (row * (height + GAP) + y) * whole.width + column * (width + GAP);
        data.set(image.data.subarray(3 * y * width, 3 * (y + 1) * width), 3 * to);
      }
    }
  }
  return { data, ...whole };
}

const sides = ["a", "b"] as const;

/** Stands for another engine, in place of a preset. */
const FOREIGN = "foreign";

async function compare(left: string, right: string, options: CompareOptions): Promise<void> {
  checkColourName(options.output);
  checkOutputs(
    { "the left image": left, "the right image": right, "--truth": options.truth },
    { "-o": options.output },
  );
  if (options.truthScale !== undefined && options.truth === undefined)
    throw new DepthwattError("USAGE", "expected --truth with --truth-scale, got nothing");
  const threshold = positiveNumber("--threshold", options.threshold);
  const scale =
    options.truthScale === undefined ? undefined : positiveNumber("--truth-scale", options.truthScale);
  if ((options.a === FOREIGN || options.b === FOREIGN) !== (options.foreign !== undefined))
    throw new DepthwattError("USAGE", "expected --foreign COMMAND and foreign as --a or --b, got one alone");
  const results: { matched: ForeignMatched; map: FloatImage; min: number; max: number }[] = [];
  // Both presets are known before the first is matched.
  for (const side of sides)
    if (options[side] !== FOREIGN)
      findPreset(options[side], nearestName, { what: `--${side}`, code: "USAGE" });
  const configs = sides.map((side) => {
    const preset = options[side] === FOREIGN ? {} : { preset: options[side] };
    return loadFlagConfig({ ...options, ...preset }, settingFlags(options)).config;
  });
  for (const [at, config] of configs.entries()) {
    const pictures = await readPair(left, right, config.match.algorithm, note);
    const matched =
      options[sides[at]!] === FOREIGN
        ? await matchForeign(config, pictures, options.foreign!)
        : await computePair(await openPair(config, pictures, note));
    const { minDisparity: min, numDisparities } = config.match;
    const map = disparityFromQ4(matched.disparityQ4, matched.width, matched.height);
    results.push({ matched, map, min, max: min + numDisparities });
  }
  const [a, b] = results as [(typeof results)[0], (typeof results)[0]];
  const truth =
    options.truth === undefined ? undefined : await readDisparity(options.truth, scale ? { scale } : {});
  if (truth !== undefined && (truth.width !== a.map.width || truth.height !== a.map.height)) {
    throw new DepthwattError(
      "IMAGE_SIZE_MISMATCH",
      `${options.truth}: expected ${a.map.width} x ${a.map.height} as the maps are, found ${truth.width} x ${truth.height}`,
    );
  }
  const range = { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
  const maps = [colourDisparity(a.map, range), colourDisparity(b.map, range)] as const;
  // Without a ground truth each is held against the other.
  const errors = [
    errorMap(a.map, truth ?? b.map, threshold),
    errorMap(b.map, truth ?? a.map, threshold),
  ] as const;
  await writeImage(options.output, sheet([maps, errors]));
  const scores = results.map(
    ({ matched }) => truth && score(matched.disparityQ4, truth.data, undefined, threshold),
  );
  const differing = score(a.matched.disparityQ4, b.map.data, undefined, threshold);
  const reported = sides.map((side, at) => {
    const { matched } = results[at]!;
    return {
      preset: options[side],
      milliseconds: Math.round(1000 * matched.milliseconds) / 1000,
      validPercent: matched.validPercent,
      badPercent: scores[at]?.badPercent ?? null,
      averageErrorPx: scores[at]?.averageErrorPx ?? null,
    };
  });
  if (options.json) {
    printJson({
      width: a.map.width,
      height: a.map.height,
      threshold,
      a: reported[0],
      b: reported[1],
      differingPercent: differing.badPercent,
    });
    return;
  }
  const percent = (value: number | null) => (value === null ? "-" : `${value.toFixed(2)} %`);
  const rows = reported.map(({ preset, milliseconds, validPercent, badPercent, averageErrorPx }) => [
    preset,
    `${milliseconds.toFixed(1)} ms`,
    `${percent(validPercent)} valid`,
    truth === undefined ? "" : `${percent(badPercent)} off by more than ${threshold} px`,
    averageErrorPx === null ? "" : `mean error ${averageErrorPx.toFixed(2)} px`,
  ]);
  for (const line of columns(rows)) printLine(line);
  printLine(
    `${percent(differing.badPercent)} of the pixels differ by more than ${threshold} px, or have one estimate alone`,
  );
  note(
    `${options.output}: above ${options.a} and ${options.b}, below ${truth ? "their errors" : "where they differ"}`,
  );
}

export function define(command: Command): void {
  describeArguments(command, {
    left: "left image: PNG, JPEG, PGM or PPM; rectified, unless --calibration is given",
    right: "right image of the same size",
  });
  command
    .requiredOption("--a <preset>", "the left half of the picture (depthwatt presets lists them), or foreign")
    .requiredOption("--b <preset>", "the right half")
    .requiredOption("-o, --output <file>", "the picture, .png: both maps above, their errors below")
    .option(
      "--foreign <command>",
      "for foreign: a helper that matches the images {left} and {right} with {disparities}",
    )
    .option("--truth <file>", "ground truth, .pfm or .png; without it the maps are compared with each other")
    .option("--truth-scale <units>", "stored units per pixel (default: 256 for 16-bit images, else 1)")
    .option("--threshold <px>", "errors above it are bad", "1");
  withSettingFlags(command, ...SETTINGS);
  withExamples(
    withJson(withConfig(command, { preset: false }), "print one JSON object"),
    "depthwatt compare left.png right.png --a sgm-2016 --b quality -o both.png",
    "depthwatt compare left.png right.png --a chang-half --b chang-full --truth disp.pfm -o both.png",
    "depthwatt compare left.png right.png --a quality --b foreign --foreign 'python3 sgbm.py {left} {right} {disparities}' -o both.png",
  ).action((left: string, right: string, options: CompareOptions) => compare(left, right, options));
}
