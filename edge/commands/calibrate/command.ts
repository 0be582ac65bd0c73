// SPDX-License-Identifier: Apache-2.0
// depthwatt calibrate: pictures of a board in, a stereo calibration, its uncertainty and a report out.
import { type Command, Option } from "commander";
import {
  type Board,
  type CalibrationResult,
  calibratePairs,
  DICTIONARIES,
  type GreyImage,
  LENS_MODELS,
  orientPair,
  PATTERNS,
  parseOrientation,
} from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import { withControl } from "../../cli/ask-device.js";
import { loadFlagConfig, withConfig, withExamples, withJson, withPlaces } from "../../cli/options.js";
import { note, printJson } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { loadNative } from "../../contracts/native.js";
import {
  checkPlaces,
  type Looked,
  listPairs,
  lookForBoard,
  lookForOthers,
  type NamedPair,
  reportPage,
  takePairs,
  type WantedBoard,
  writeOutputs,
} from "../../rig/calibrate/index.js";
import { openSource } from "../../run/open-source.js";
import {
  type CalibrateFlags,
  checkFlags,
  parseBoard,
  parseMetres,
  parseOthers,
  parseSeconds,
} from "./flags.js";
import { recalibrate } from "./from-run.js";
import { isLive, type LiveRun, runLive } from "./live-run.js";
import { printResult } from "./print-result.js";

async function pairsOfStream(flags: CalibrateFlags): Promise<NamedPair[]> {
  const recording = flags.source!;
  const { config } = loadFlagConfig(flags, {
    "source.kind": { flag: "--source", value: "mcap" },
    "source.mcap.file": { flag: "--source", value: recording },
    "source.mcap.speed": { flag: "--source", value: "max" },
  });
  const { source, warnings } = await openSource(config, { colours: false });
  for (const warning of warnings) note(`note: ${warning}`);
  const pairs: NamedPair[] = [];
  try {
    await takePairs(source, flags.interval, async (pair) => void pairs.push(pair));
  } finally {
    await source.stop();
  }
  return pairs;
}

function capturedPairs(flags: CalibrateFlags): Promise<NamedPair[]> {
  const { source, left, right, sideBySide } = flags;
  if (source !== undefined) {
    if (flags.other !== undefined)
      throw new DepthwattError("USAGE", "expected --other with --left and --right, got --source");
    if (source.endsWith(".mcap")) return pairsOfStream(flags);
    throw new DepthwattError("USAGE", `expected --source to be a recording (.mcap), got "${source}"`, {
      hint: "With --live it is a kind of source, such as v4l2 or command.",
    });
  }
  return listPairs({ left, right, sideBySide }, parseOthers(flags));
}

/** Reads pairs and makes them upright: files and recordings have them as they were captured. */
async function readPairs(flags: CalibrateFlags): Promise<NamedPair[]> {
  const orientation = parseOrientation(loadFlagConfig(flags, {}).config.rig.orientation);
  const pairs = await capturedPairs(flags);
  return pairs.map((pair) => ({ ...pair, read: async () => orientPair(await pair.read(), orientation) }));
}

/** Calibrates, with squares scaled to the measured baseline. */
async function calibrated(flags: CalibrateFlags, looked: Looked): Promise<CalibrationResult> {
  const baselineMetres = flags.baseline === undefined ? undefined : parseMetres("--baseline", flags.baseline);
  const options = {
    lens: flags.lens,
    imageSize: looked.imageSize,
    withoutK3: !flags.k3,
    compareLenses: true,
    others: parseOthers(flags).map(({ name, lens }, at) => ({
      name,
      lens,
      imageSize: looked.otherSizes![at]!,
    })),
  };
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

async function renderExample(
  result: CalibrationResult,
  pairs: readonly NamedPair[],
): Promise<{ name: string; left: GreyImage; right: GreyImage } | undefined> {
  // The middle one of the ones that fit: neither the best nor the worst.
  const order = result.pairs
    .map((pair, at) => ({ at, error: pair.epipolarRmsPixels ?? Number.NaN }))
    .filter(({ error }) => !Number.isNaN(error))
    .sort((a, b) => a.error - b.error);
  const pair = pairs[order[order.length >> 1]?.at ?? -1];
  return pair === undefined ? undefined : { name: pair.name, ...(await pair.read()) };
}

/** Images that are at hand: the board is looked for in all of them. */
async function lookAtImages(flags: CalibrateFlags, wanted: WantedBoard): Promise<Material> {
  const pairs = await readPairs(flags);
  const progress = new Progress();
  try {
    const looked = await lookForBoard(loadNative(), pairs, wanted, (done, of) =>
      progress.show(done, of, "looking for the board"),
    );
    const names = parseOthers(flags).map(({ name }) => name);
    return { pairs, looked: await lookForOthers(loadNative(), pairs, looked, names) };
  } finally {
    progress.clear();
  }
}

interface Material {
  pairs: readonly NamedPair[];
  looked: Looked;
}

async function make(flags: CalibrateFlags, { pairs, looked }: Material, beganMs: number): Promise<string> {
  for (const text of looked.notes) note(`note: ${text}`);
  const result = await calibrated(flags, looked);
  const { seen, notes } = looked;
  const report =
    flags.report === undefined
      ? undefined
      : await reportPage({
          result,
          seen,
          example: await renderExample(result, pairs),
          notes,
          date: new Date(),
        });
  const files = await writeOutputs(flags, result.calibration, report, flags.force === true);
  const ofPair = [flags.opencv, flags.ros, flags.kalibr].filter((file) => file !== undefined);
  if (result.others.length > 0 && ofPair.length > 0)
    note(
      `note: further cameras are in ${flags.output} only; these files have the pair: ${ofPair.join(", ")}`,
    );
  if (flags.json) {
    const { calibration, ...rest } = result;
    printJson({ ...rest, calibration, files, seconds: (performance.now() - beganMs) / 1000 });
  } else printResult(result, files);
  return `${result.pairsUsed} pairs, ${result.rmsPixels.toFixed(3)} px rms, written to ${files.join(", ")}`;
}

async function run(flags: CalibrateFlags): Promise<void> {
  if (flags.fromRun !== undefined || flags.undo === true) return recalibrate(flags);
  const begin = performance.now();
  const wanted = parseBoard(flags);
  checkFlags(flags);
  checkPlaces(flags, flags.force === true);
  const others = parseOthers(flags);
  if (!isLive(flags)) {
    await make(flags, await lookAtImages(flags, wanted), begin);
    return;
  }
  if (others.length > 0)
    throw new DepthwattError("USAGE", "expected --other with images, got cameras", {
      hint: "Capture the board with all cameras first, then give the folders.",
    });
  const live: LiveRun = await runLive(flags, wanted);
  let ended = "no calibration";
  try {
    const { capture } = live;
    if (!capture.enough) note("note: ended before the goals were reached");
    ended = await make(flags, { pairs: capture.pairs, looked: capture }, begin);
  } catch (error) {
    ended = (error as Error).message;
    throw error;
  } finally {
    await live.finish(ended);
  }
}

export function define(command: Command): void {
  withPlaces(command, "images (a folder, a name with *, or a list file) or camera")
    .option(
      "--other <name=images>",
      "images of a further camera, of the pairs' moments: NAME=IMAGES or NAME:LENS=IMAGES; repeat for more cameras",
      (text: string, before: string[] | undefined) => [...(before ?? []), text],
    )
    .option("--source <file>", "a recording (.mcap) with both input images; with --live a kind of source")
    .option(
      "--live",
      "take pairs from the running source automatically and say how to hold the board (default for cameras)",
    )
    .option("--save <folder>", "with live cameras: also save the pairs, in left/ and right/")
    .addOption(
      new Option("--pattern <name>", "pattern on the board").choices([...PATTERNS]).default("chessboard"),
    )
    .option(
      "--board <size>",
      "inner corners of a chessboard, such as 9x6 (default: guessed); circles per row, and rows; squares of a ChArUco board",
    )
    .option(
      "--square <length>",
      "side of a square, or distance between rows of circles: 0.025 (metres), 25mm or 2.5cm",
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
    .option(
      "--interval <seconds>",
      "for recordings: seconds between the pairs that are used",
      parseSeconds,
      0.5,
    )
    .option("-o, --output <file>", "calibration file in depthwatt's format", "calibration.json")
    .option("--opencv <file>", "also as OpenCV FileStorage, YAML")
    .option("--ros <folder>", "also as ROS camera_info, left.yaml and right.yaml")
    .option("--kalibr <file>", "also as Kalibr camchain, YAML")
    .option(
      "--report <file>",
      "a page with errors, coverage, a rectified pair and the expected depth error, HTML",
    )
    .option("--force", "overwrite existing files")
    .option("--from-run <device>", "keep what health.correct of a running device corrects as its calibration")
    .option("--undo", "with --from-run: return to the calibration before");
  withExamples(
    withJson(withControl(withConfig(command)), "print one JSON object"),
    "depthwatt calibrate --left stills/left --right stills/right --square 25mm --report report.html",
    "depthwatt calibrate --left stills/left --right stills/right --board 9x6 --square 0.025 --lens fisheye -o rig.json --opencv rig.yaml",
    "depthwatt calibrate --left stills/left --right stills/right --other rgb=stills/rgb --square 25mm",
    "depthwatt calibrate --from-run robot-1 --secret-file control.secret",
    "depthwatt calibrate --left /dev/video0 --right /dev/video2 --square 25mm --report report.html",
  ).action(run);
}
