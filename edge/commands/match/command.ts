// SPDX-License-Identifier: Apache-2.0
// depthwatt match: one pair of pictures in, one disparity map out.
import { extname } from "node:path";
import type { Command } from "commander";
import {
  checkColourName,
  checkDisparityName,
  colourDisparity,
  disparityFromQ4,
  shownRange,
  writeDisparity,
  writeImage,
} from "../../../camera/index.js";
import { plyOfPoints } from "../../../core/frame/ply.js";
import { DepthwattError, writeBeside } from "../../../core/index.js";
import { DROP_CAUSES, matcherParameters, perCause } from "../../../cuda/index.js";
import {
  type ConfigOptions,
  checkOutputs,
  describeArguments,
  loadFlagConfig,
  withConfig,
  withExamples,
  withJson,
} from "../../cli/options.js";
import { note, printJson, printLine } from "../../cli/output.js";
import { type SettingOptions, settingFlags, withSettingFlags } from "../../cli/setting-flags.js";
import type { Config } from "../../config/index.js";
import { orUnavailable } from "../../contracts/availability.js";
import {
  computePair,
  examinePair,
  isOneImage,
  type Matched,
  openPair,
  pairDisparities,
  readPair,
} from "../../match/match-pair.js";
import {
  FEW_MATCHED_PERCENT,
  fewMatchedWarning,
  rangeWarning,
  SUSPICIOUS_PERCENT,
} from "../../match/search-range.js";
import { adaptationFigures, rowsTooFarApart } from "../../pipeline/adaptation.js";
import { matchParameters } from "../../pipeline/parameters.js";

const SETTINGS = ["calibration", "algorithm", "numDisparities", "minDisparity", "backend"] as const;

interface MatchOptions extends ConfigOptions, SettingOptions<(typeof SETTINGS)[number]> {
  output?: string;
  color?: string;
  filled?: boolean;
  json?: boolean;
}

const thousandths = (value: number | undefined) =>
  value === undefined ? undefined : Math.round(value * 1000) / 1000;

async function writeCloud(
  file: string,
  { bytes, form }: NonNullable<Matched["points"]>,
  pixels: number,
): Promise<void> {
  const { frame, element, colours } = form;
  try {
    await writeBeside(file, plyOfPoints(bytes, pixels, { frame, element, colour: colours ? "rgb" : "grey" }));
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Describes the pixels that the limits dropped, for the line of results; empty if there are none. */
function droppedText(droppedPercent: Matched["droppedPercent"]): string {
  const words = { filled: "filled", lowConfidence: "low confidence", tooNear: "too near", tooFar: "too far" };
  const causes = DROP_CAUSES.filter((cause) => droppedPercent[cause] > 0);
  const parts = causes.map((cause) => `${droppedPercent[cause].toFixed(1)} % ${words[cause]}`);
  return parts.length === 0 ? "" : `; dropped: ${parts.join(", ")}`;
}

/** Drops pixels that were not matched: nothing was measured there. */
function withoutFilled(config: Config): Config {
  const minConfidence = Math.max(config.refine.minConfidence, 0.001);
  return { ...config, refine: { ...config.refine, minConfidence } };
}

async function match(leftFile: string, rightFile: string, options: MatchOptions): Promise<void> {
  const cloud = options.output !== undefined && extname(options.output).toLowerCase() === ".ply";
  if (options.output !== undefined && !cloud) checkDisparityName(options.output, ".pfm, .png or .ply");
  if (options.color !== undefined) checkColourName(options.color);
  checkOutputs(
    { "the left image": leftFile, "the right image": rightFile },
    { "-o": options.output, "--color": options.color },
  );
  const loaded = loadFlagConfig(options, settingFlags(options));
  const config = cloud && !options.filled ? withoutFilled(loaded.config) : loaded.config;
  const colours = cloud && config.points.colour === "rgb";
  const pictures = await readPair(leftFile, rightFile, config.match.algorithm, note, colours);
  const opened = await openPair(config, pictures, note, cloud);
  const matched = await computePair(opened);
  const { width, height, disparityQ4, milliseconds, info } = matched;
  const { validPercent, matchedPercent, droppedPercent } = matched;
  const rows = rowsTooFarApart(info);
  if (rows !== undefined) note(`warning: ${rows}`);
  const { lowConfidence, tooNear, tooFar } = droppedPercent;
  const matchedBeforeLimits = matchedPercent + lowConfidence + tooNear + tooFar;
  const hasFewMatched = matchedBeforeLimits < FEW_MATCHED_PERCENT;
  const problem = hasFewMatched || isOneImage(opened) ? examinePair(opened, config.health) : undefined;
  const isAtRangeEnd = (matched.atRangeEndPercent ?? 0) >= SUSPICIOUS_PERCENT;
  const needed = problem === undefined && isAtRangeEnd ? await pairDisparities(opened) : undefined;
  if (problem !== undefined) note(`warning: ${problem.code}: ${problem.text}. ${problem.hint}`);
  else if (needed !== undefined)
    note(`warning: ${rangeWarning(matched.atRangeEndPercent!, config.match, needed)}`);
  else if (hasFewMatched) note(`warning: ${fewMatchedWarning(matchedBeforeLimits)}`);
  const disparity = disparityFromQ4(disparityQ4, width, height);
  if (matched.points !== undefined) await writeCloud(options.output!, matched.points, width * height);
  else if (options.output !== undefined) await writeDisparity(options.output, disparity);
  if (options.color !== undefined) {
    await writeImage(options.color, colourDisparity(disparity, shownRange(disparity.data)));
  }
  const used = matchParameters(config.match);
  const { algorithm, minDisparity, numDisparities, halfResolution } = used;
  if (options.json) {
    printJson({
      width,
      height,
      algorithm,
      backend: info.backend,
      instructionSet: info.instructionSet,
      search: info.search,
      milliseconds: Math.round(milliseconds * 1000) / 1000,
      validPercent: Math.round(validPercent * 1000) / 1000,
      matchedPercent: Math.round(matchedPercent * 1000) / 1000,
      atRangeEndPercent: orUnavailable(thousandths(matched.atRangeEndPercent), "no pixel was matched"),
      neededDisparities: needed ?? null,
      droppedPercent: perCause((cause) => Math.round(droppedPercent[cause] * 1000) / 1000),
      ...adaptationFigures(info),
      problem: problem ?? null,
      minDisparity,
      numDisparities,
      parameters: { halfResolution, ...matcherParameters(used), refine: config.refine },
    });
    return;
  }
  printLine(
    `${width}x${height}, ${algorithm}, disparities ${minDisparity} to ${minDisparity + numDisparities - 1}, ` +
      `${info.backend} (${info.instructionSet}): ${milliseconds.toFixed(2)} ms, ` +
      `${validPercent.toFixed(1)} % valid, ${matchedPercent.toFixed(1)} % matched${droppedText(droppedPercent)}`,
  );
  const files = [options.output, options.color].filter((file) => file !== undefined);
  if (files.length > 0) printLine(`wrote ${files.join(" and ")}`);
  else printLine("nothing was written: give -o OUT.pfm, -o CLOUD.ply or --color OUT.png");
}

export function define(command: Command): void {
  describeArguments(command, {
    left: "left image: PNG, JPEG, PGM or PPM; rectified, unless --calibration is given",
    right: "right image of the same size",
  });
  withSettingFlags(command, ...SETTINGS)
    .option(
      "-o, --output <file>",
      "disparity map: .pfm (float, inf = none) or .png (16 bit, x 256, 0 = none); or points: .ply (settings points.*; needs a calibration)",
    )
    .option("--filled", "also write the points of a .ply that were filled instead of matched")
    .option("--color <file>", "disparity map in the colours and the range of the live page, .png");
  withExamples(
    withJson(withConfig(command), "print one JSON object"),
    "depthwatt match left.png right.png --num-disparities 64 -o disparity.pfm --color disparity.png",
    "depthwatt match left.png right.png --calibration calibration.json --set points.frame=robot -o cloud.ply",
  ).action((left: string, right: string, options: MatchOptions) => match(left, right, options));
}
