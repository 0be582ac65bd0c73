// SPDX-License-Identifier: Apache-2.0
// depthwatt calibrate: pictures of a board in, a stereo calibration, its uncertainty and a report out.
import { type Command, Option } from "commander";
import {
  type Board,
  boardWords,
  type CalibrationResult,
  calibratePairs,
  DICTIONARIES,
  type Dictionary,
  type GreyImage,
  LENS_MODELS,
  type LensModel,
  PATTERNS,
  type Pattern,
} from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import {
  checkPlaces,
  lengthWords,
  listPairs,
  type Looked,
  lookForBoard,
  type NamedPair,
  type Outputs,
  reportPage,
  takePairs,
  type WantedBoard,
  writeOutputs,
} from "../calibrate/index.js";
import { loadNative } from "../native.js";
import { openSource } from "../sources/index.js";
import { kindOfPath } from "../sources/section.js";
import { type ConfigOptions, configOf, withConfig, withExamples, withJson } from "./options.js";
import { columns, note, paint, printJson, printLine } from "./output.js";
import { Progress } from "./progress.js";

interface CalibrateFlags extends ConfigOptions {
  left?: string;
  right?: string;
  sideBySide?: string;
  source?: string;
  pattern: Pattern;
  board?: string;
  square?: string;
  marker?: string;
  dictionary: Dictionary;
  lens: LensModel;
  k3: boolean;
  baseline?: string;
  interval: string;
  output: string;
  opencv?: string;
  ros?: string;
  kalibr?: string;
  report?: string;
  force?: boolean;
  json?: boolean;
}

/** "0.025", "25mm" or "2.5 cm" in metres. */
export function metresOf(flag: string, text: string): number {
  const [, number, unit = "m"] = /^\s*(\d*\.?\d+(?:e-?\d+)?)\s*(m|cm|mm)?\s*$/i.exec(text) ?? [];
  const metres = Number(number) * { m: 1, cm: 0.01, mm: 0.001 }[unit.toLowerCase() as "m" | "cm" | "mm"];
  if (number !== undefined && metres > 0 && metres < 100) return metres;
  throw new DepthwattError(
    "USAGE",
    `expected ${flag} to be a length such as 0.025 (metres) or 25mm, got "${text}"`,
  );
}

function sizeOf(text: string): { columns: number; rows: number } {
  const [, columns, rows] = /^\s*(\d+)\s*[x×]\s*(\d+)\s*$/.exec(text) ?? [];
  const size = { columns: Number(columns), rows: Number(rows) };
  if (Object.values(size).every((side) => side >= 3 && side <= 64)) return size;
  throw new DepthwattError(
    "USAGE",
    `expected --board to be COLUMNSxROWS of 3 to 64 each, such as 9x6, got "${text}"`,
  );
}

function boardOf(flags: CalibrateFlags): WantedBoard {
  const { pattern, square, baseline } = flags;
  if (square === undefined && baseline === undefined) {
    throw new DepthwattError(
      "USAGE",
      "expected --square, the side of a square of the printed board, got nothing",
      {
        hint: "Measure ten squares with a ruler: --square 25mm. Or give --baseline, the distance between the cameras.",
      },
    );
  }
  if (pattern !== "chessboard" && flags.board === undefined)
    throw new DepthwattError(
      "USAGE",
      `expected --board COLUMNSxROWS: a board of ${pattern} cannot be guessed`,
    );
  const squareMetres = square === undefined ? 1 : metresOf("--square", square);
  const board = { pattern, squareMetres, ...(flags.board === undefined ? {} : sizeOf(flags.board)) };
  if (pattern !== "charuco") return board;
  if (square === undefined || flags.marker === undefined)
    throw new DepthwattError(
      "USAGE",
      "expected --square and --marker, the sides of a square and of a marker",
    );
  const markerMetres = metresOf("--marker", flags.marker);
  if (markerMetres > 0.95 * squareMetres || markerMetres < 0.3 * squareMetres) {
    throw new DepthwattError(
      "USAGE",
      `expected --marker to be 0.3 to 0.95 of --square (${squareMetres} m), got ${markerMetres} m`,
    );
  }
  return { ...board, markerMetres, dictionary: DICTIONARIES.indexOf(flags.dictionary) };
}

async function pairsOfStream(flags: CalibrateFlags): Promise<NamedPair[]> {
  const recording = flags.source!;
  const { config } = configOf(flags, {
    "source.kind": { flag: "--source", value: "mcap" },
    "source.mcap.file": { flag: "--source", value: recording },
    "source.mcap.speed": { flag: "--source", value: "max" },
  });
  const { source, warnings } = await openSource(config, { colours: false });
  for (const warning of warnings) note(`note: ${warning}`);
  const pairs: NamedPair[] = [];
  try {
    await takePairs(source, Number(flags.interval), async (pair) => void pairs.push(pair));
  } finally {
    await source.stop();
  }
  return pairs;
}

function pairsOf(flags: CalibrateFlags): Promise<NamedPair[]> {
  const { source, left, right, sideBySide } = flags;
  if (source !== undefined) {
    if (source.endsWith(".mcap")) return pairsOfStream(flags);
    throw new DepthwattError("USAGE", `expected --source to be a recording (.mcap), got "${source}"`);
  }
  for (const path of [left, right, sideBySide]) {
    if (path === undefined || kindOfPath(path) !== "v4l2") continue;
    throw new DepthwattError("USAGE", `expected images, got the camera ${path}`, {
      hint: "Take pairs first: depthwatt capture --left DEVICE --right DEVICE --frames 30 --save FOLDER.",
    });
  }
  return listPairs({ left, right, sideBySide });
}

const percent = (share: number) => `${(100 * share).toFixed(2)} %`;

function printResult(result: CalibrationResult, files: readonly string[]): void {
  const { calibration, deviations } = result;
  for (const pair of result.pairs.filter((one) => !one.used))
    printLine(`left out  ${pair.name}: ${pair.reason}`);
  const rows = [
    ["pairs", `${result.pairsUsed} of ${result.pairs.length} used, board ${boardWords(result.board)}`],
    [
      "error",
      `${result.rmsPixels.toFixed(3)} px rms (left ${result.leftRmsPixels.toFixed(3)}, right ${result.rightRmsPixels.toFixed(3)}), ` +
        `rows ${result.epipolarRmsPixels?.toFixed(3) ?? "unknown"} px apart`,
    ],
    ...(["left", "right"] as const).map((side) => {
      const [fx, , cx, , fy, cy] = calibration[side].K;
      const deviation = deviations?.[side === "left" ? "leftFocalPixels" : "rightFocalPixels"];
      const known =
        deviation === undefined ? "" : ` +- ${deviation.toFixed(2)} px (${percent(deviation / fx)})`;
      return [
        side,
        `focal length ${fx.toFixed(2)} x ${fy.toFixed(2)}${known}, centre ${cx.toFixed(1)} ${cy.toFixed(1)}`,
      ];
    }),
    [
      "rig",
      `baseline ${lengthWords(result.baselineMetres)}` +
        (deviations === undefined
          ? ""
          : ` +- ${lengthWords(deviations.baselineMetres)}, rotation +- ${deviations.rotationDegrees.toFixed(4)} degrees`),
    ],
    [
      "depth",
      `expected error ${result.depthErrors
        .map(({ depthMetres, totalMetres }) => `${lengthWords(totalMetres)} at ${depthMetres} m`)
        .join(", ")} (matching ${result.matchingErrorPixels} px)`,
    ],
    ...files.map((file, at) => [at === 0 ? "written" : "", file]),
  ];
  for (const line of columns(rows)) printLine(line);
  for (const warning of result.warnings) note(`${paint("yellow", "warning:", process.stderr)} ${warning}`);
}

/** Squares scaled so that the baseline is the one that was measured. */
async function calibrated(flags: CalibrateFlags, looked: Looked): Promise<CalibrationResult> {
  const baselineMetres = flags.baseline === undefined ? undefined : metresOf("--baseline", flags.baseline);
  const options = { lens: flags.lens, imageSize: looked.imageSize, withoutK3: !flags.k3 };
  const native = loadNative();
  const solve = (board: Board, checked: boolean) =>
    calibratePairs(native, looked.seen, {
      ...options,
      board,
      ...(checked && baselineMetres !== undefined ? { baselineMetres } : {}),
    });
  if (flags.square !== undefined) return solve(looked.board, true);
  const rough = await solve(looked.board, false);
  return solve({ ...looked.board, squareMetres: baselineMetres! / rough.baselineMetres }, true);
}

async function exampleOf(
  result: CalibrationResult,
  pairs: readonly NamedPair[],
): Promise<{ name: string; left: GreyImage; right: GreyImage } | undefined> {
  // The middle one of those that fit: neither the best nor the worst.
  const order = result.pairs
    .map((pair, at) => ({ at, error: pair.epipolarRmsPixels ?? Number.NaN }))
    .filter(({ error }) => !Number.isNaN(error))
    .sort((a, b) => a.error - b.error);
  const pair = pairs[order[order.length >> 1]?.at ?? -1];
  return pair === undefined ? undefined : { name: pair.name, ...(await pair.read()) };
}

async function run(flags: CalibrateFlags): Promise<void> {
  const begin = performance.now();
  const wanted = boardOf(flags);
  const outputs: Outputs = flags;
  checkPlaces(outputs, flags.force === true);
  const pairs = await pairsOf(flags);
  const progress = new Progress();
  let looked: Looked;
  try {
    looked = await lookForBoard(loadNative(), pairs, wanted, (done, of) =>
      progress.show(done, of, "looking for the board"),
    );
  } finally {
    progress.clear();
  }
  for (const text of looked.notes) note(`note: ${text}`);
  const result = await calibrated(flags, looked);
  const { board, seen, notes } = looked;
  const report =
    flags.report === undefined
      ? undefined
      : await reportPage({ result, seen, example: await exampleOf(result, pairs), notes, date: new Date() });
  const files = await writeOutputs(outputs, result.calibration, report, flags.force === true);
  if (flags.json) {
    const { calibration, ...rest } = result;
    printJson({ ...rest, calibration, board, files, seconds: (performance.now() - begin) / 1000 });
  } else printResult(result, files);
}

export function defineCalibrate(command: Command): void {
  command
    .option("--left <path>", "left images: a folder, a name with *, or a list file")
    .option("--right <path>", "right images")
    .option("--side-by-side <path>", "images that hold the left and the right image side by side")
    .option("--source <file>", "a recording (.mcap) with both input images")
    .addOption(
      new Option("--pattern <name>", "what is printed on the board")
        .choices([...PATTERNS])
        .default("chessboard"),
    )
    .option(
      "--board <size>",
      "inner corners of the chessboard, such as 9x6 (default: guessed); circles a row and rows; squares of a ChArUco board",
    )
    .option(
      "--square <length>",
      "side of a square, or from row to row of circles: 0.025 (metres), 25mm or 2.5cm",
    )
    .option("--marker <length>", "side of a ChArUco board's markers")
    .addOption(
      new Option("--dictionary <name>", "the markers' dictionary").choices([...DICTIONARIES]).default("4x4"),
    )
    .addOption(new Option("--lens <model>", "lens model").choices([...LENS_MODELS]).default("radtan"))
    .option("--no-k3", "radtan without its third radial coefficient, as Kalibr has it")
    .option(
      "--baseline <length>",
      "distance between the cameras as measured: checks --square, or replaces it",
    )
    .option("--interval <seconds>", "of a recording, look at a pair this often", "0.5")
    .option("-o, --output <file>", "depthwatt's own form", "calibration.json")
    .option("--opencv <file>", "also as OpenCV FileStorage, YAML")
    .option("--ros <folder>", "also as ROS camera_info, left.yaml and right.yaml")
    .option("--kalibr <file>", "also as Kalibr camchain, YAML")
    .option(
      "--report <file>",
      "a page with errors, coverage, a rectified pair and the expected depth error, HTML",
    )
    .option("--force", "overwrite files that are there");
  withExamples(
    withJson(withConfig(command), "print one JSON object"),
    "depthwatt calibrate --left stills/left --right stills/right --square 25mm --report report.html",
    "depthwatt calibrate --left stills/left --right stills/right --board 9x6 --square 0.025 --lens fisheye -o rig.json --opencv rig.yaml",
  ).action(run);
}
