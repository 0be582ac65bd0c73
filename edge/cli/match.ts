// SPDX-License-Identifier: Apache-2.0
// depthwatt match: one pair of pictures in, one disparity map out.
import type { Command } from "commander";
import {
  checkColourName,
  checkDisparityName,
  colourDisparity,
  disparityFromQ4,
  type EnginePicture,
  readEnginePicture,
  writeDisparity,
  writeImage,
} from "../../camera/index.js";
import { DepthwattError, isSameFile } from "../../core/index.js";
import {
  type Algorithm,
  ALGORITHMS,
  createEngine,
  type EngineInfo,
  parametersOf,
  readsColours,
  withoutColours,
} from "../../cuda/index.js";
import type { Config, FlagValue } from "../config/index.js";
import { adaptationFigures, rowsTooFarApart } from "../pipeline/adaptation.js";
import { configuredCalibration } from "../pipeline/calibration.js";
import { geometryOf, type PipelineGeometry, uncalibrated } from "../pipeline/geometry.js";
import { engineOptionsOf } from "../pipeline/engine-options.js";
import { matchParameters } from "../pipeline/parameters.js";
import { type ConfigOptions, configOf, withConfig, withExamples, withJson } from "./options.js";
import { note, printJson, printLine } from "./output.js";

interface MatchOptions extends ConfigOptions {
  calibration?: string;
  algorithm?: string;
  numDisparities?: string;
  minDisparity?: string;
  backend?: string;
  output?: string;
  color?: string;
  json?: boolean;
}

interface Matched {
  width: number;
  height: number;
  disparityQ4: Int16Array;
  milliseconds: number;
  validPercent: number;
  /** Before filling. */
  matchedPercent: number;
  info: EngineInfo;
}

const flagsOf = (options: MatchOptions): Record<string, FlagValue> => ({
  "calibration.file": { flag: "--calibration", value: options.calibration },
  "match.algorithm": { flag: "--algorithm", value: options.algorithm },
  "match.numDisparities": { flag: "--num-disparities", value: options.numDisparities },
  "match.minDisparity": { flag: "--min-disparity", value: options.minDisparity },
  "engine.backend": { flag: "--backend", value: options.backend },
});

function geometryFor(config: Config, width: number, height: number): PipelineGeometry {
  const loaded = configuredCalibration(config, { width, height });
  if (loaded === undefined) return uncalibrated(width, height);
  for (const warning of loaded.warnings) note(`warning: ${warning}`);
  return geometryOf(loaded.calibration, config.calibration.crop);
}

/** Rectifies where a calibration is given, matches, refines. */
async function matchPair(config: Config, left: EnginePicture, right: EnginePicture): Promise<Matched> {
  const { width: inputWidth, height: inputHeight } = left;
  const geometry = geometryFor(config, inputWidth, inputHeight);
  const { width, height } = geometry;
  const strideBytes = (left.format === "GREY" ? 1 : left.format === "Y16" ? 2 : 3) * inputWidth;
  const description = {
    ...{ width: inputWidth, height: inputHeight, leftFormat: left.format, rightFormat: right.format },
    ...{ leftStrideBytes: strideBytes, rightStrideBytes: strideBytes },
  };
  const engine = createEngine(
    engineOptionsOf(config, { description }, { ...geometry, depth: undefined }, {}),
  );
  const bytes = ({ data }: EnginePicture) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  try {
    const { validPixels, matchedPixels } = await engine.compute(bytes(left), bytes(right));
    const milliseconds = engine.stageMilliseconds.reduce((sum, ms) => (Number.isNaN(ms) ? sum : sum + ms), 0);
    const disparityQ4 = engine.slots[0]?.disparityQ4.slice() as Int16Array;
    return {
      ...{ width, height, disparityQ4, milliseconds },
      validPercent: (100 * validPixels) / (width * height),
      matchedPercent: (100 * matchedPixels) / (width * height),
      info: engine.info,
    };
  } finally {
    engine.close();
  }
}

async function readPair(
  leftFile: string,
  rightFile: string,
  algorithm: Algorithm,
): Promise<[EnginePicture, EnginePicture]> {
  const both = (colours: boolean) =>
    Promise.all([readEnginePicture(leftFile, colours), readEnginePicture(rightFile, colours)]);
  const pair = await both(readsColours(algorithm));
  const grey = pair.some(({ format }) => format !== "RGB8");
  if (grey && readsColours(algorithm)) note(withoutColours(algorithm, "the pictures have"));
  // One eye in colours and one without: both in grey.
  const [left, right] = grey ? await both(false) : pair;
  if (left.width !== right.width || left.height !== right.height) {
    throw new DepthwattError(
      "IMAGE_SIZE_MISMATCH",
      `Expected two images of one size, got ${left.width}x${left.height} in ${leftFile} and ` +
        `${right.width}x${right.height} in ${rightFile}.`,
    );
  }
  if (left.format !== right.format) {
    const bits = ({ data }: EnginePicture) => 8 * data.BYTES_PER_ELEMENT;
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `Expected two images of one depth, got ${bits(left)} bit in ${leftFile} and ${bits(right)} bit in ${rightFile}.`,
    );
  }
  return [left, right];
}

/** Two results in one file, or one in place of what it was made of, would be a loss without a word. */
function checkOutputs(leftFile: string, rightFile: string, { output, color }: MatchOptions): void {
  const places: [string, string | undefined][] = [
    ["the left picture", leftFile],
    ["the right picture", rightFile],
    ["-o", output],
    ["--color", color],
  ];
  for (const [at, [name, path]] of places.entries()) {
    if (path === undefined || at < 2) continue;
    const other = places.slice(0, at).find(([, before]) => before !== undefined && isSameFile(before, path));
    if (other === undefined) continue;
    throw new DepthwattError("USAGE", `expected ${name} and ${other[0]} to be two files, both are ${path}`, {
      hint: "Give each its own name.",
    });
  }
}

async function match(leftFile: string, rightFile: string, options: MatchOptions): Promise<void> {
  if (options.output !== undefined) checkDisparityName(options.output);
  if (options.color !== undefined) checkColourName(options.color);
  checkOutputs(leftFile, rightFile, options);
  const { config } = configOf(options, flagsOf(options));
  const [left, right] = await readPair(leftFile, rightFile, config.match.algorithm);
  const matched = await matchPair(config, left, right);
  const { width, height, disparityQ4, milliseconds, validPercent, matchedPercent, info } = matched;
  const tooFar = rowsTooFarApart(info);
  if (tooFar !== undefined) note(`warning: ${tooFar}`);
  const disparity = disparityFromQ4(disparityQ4, width, height);
  if (options.output !== undefined) await writeDisparity(options.output, disparity);
  if (options.color !== undefined) {
    const { minDisparity, numDisparities } = config.match;
    const colours = colourDisparity(disparity, { min: minDisparity, max: minDisparity + numDisparities });
    await writeImage(options.color, colours);
  }
  const used = matchParameters(config.match);
  const { algorithm, minDisparity, numDisparities, halfResolution } = used;
  if (options.json) {
    printJson({
      ...{ width, height, algorithm, backend: info.backend, instructionSet: info.instructionSet },
      milliseconds: Math.round(milliseconds * 1000) / 1000,
      validPercent: Math.round(validPercent * 1000) / 1000,
      matchedPercent: Math.round(matchedPercent * 1000) / 1000,
      ...adaptationFigures(info),
      ...{
        minDisparity,
        numDisparities,
        parameters: { halfResolution, ...parametersOf(used), refine: config.refine },
      },
    });
    return;
  }
  printLine(
    `${width}x${height}, ${algorithm}, disparities ${minDisparity} to ${minDisparity + numDisparities - 1}, ` +
      `${info.backend} (${info.instructionSet}): ${milliseconds.toFixed(2)} ms, ` +
      `${validPercent.toFixed(1)} % valid, ${matchedPercent.toFixed(1)} % matched`,
  );
  if (options.output === undefined && options.color === undefined) {
    printLine("nothing was written: give -o OUT.pfm or --color OUT.png");
  }
}

export function registerMatch(program: Command): void {
  const command = program
    .command("match")
    .description("match one pair of pictures and write the disparity map")
    .argument("<left>", "left picture: PNG, JPEG, PGM or PPM")
    .argument("<right>", "right picture of the same size")
    .option("--calibration <file>", "rectify with this calibration (default: the pictures are rectified)")
    .option("--algorithm <name>", `matcher: ${ALGORITHMS.join(", ")}`)
    .option("--num-disparities <n>", "disparities searched, 8 to 512")
    .option("--min-disparity <n>", "smallest disparity searched")
    .option("--backend <name>", "auto, cpu or cuda")
    .option(
      "-o, --output <file>",
      "disparity map: .pfm (float, inf = none) or .png (16 bit, x 256, 0 = none)",
    )
    .option("--color <file>", "disparity map in colours, .png");
  withExamples(
    withJson(withConfig(command), "print one JSON object"),
    "depthwatt match left.png right.png --num-disparities 64 -o disparity.pfm --color disparity.png",
  ).action((left: string, right: string, options: MatchOptions) => match(left, right, options));
}
