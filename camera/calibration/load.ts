// SPDX-License-Identifier: Apache-2.0
// Reads a stereo calibration from whatever files a user has; the format is told by the content, never by the name.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { DepthwattError, hasCode } from "../../core/index.js";
import { checkHasEnd, MAX_TEXT_BYTES } from "../recordings/images/index.js";
import type { StereoCalibration } from "./calibration.js";
import { type CalibrationDraft, type FormatName, type ParsedFile, refusal } from "./draft.js";
import { parseCalibrationText } from "./parse.js";
import { isOwnJson, readOwnJson } from "./read-json.js";
import { isKalibr, readKalibr } from "./read-kalibr.js";
import { isOpenCv, readOpenCv } from "./read-opencv.js";
import { isRos, readRos } from "./read-ros.js";
import { type ValidationOptions, validate } from "./validate.js";

export interface LoadCalibrationOptions extends ValidationOptions {
  /** Size of the images that will be rectified; a calibration for another size is refused. */
  imageSize?: { width: number; height: number };
  /** Accepts a calibration at a whole multiple or fraction of imageSize and scales its camera matrices. Default false. */
  allowScaling?: boolean;
  /** How many metres the file's unit of length is: 0.001 for millimetres. Default 1. */
  lengthUnitMetres?: number;
  /** Kalibr only: which camera of the chain is the left one, such as "cam1". Default: the first. */
  leftName?: string;
}

export interface LoadedCalibration {
  calibration: StereoCalibration;
  format: FormatName;
  /** Sentences for the user: the calibration is usable, but probably not what was meant. */
  warnings: string[];
}

const EXTENSIONS = /\.(ya?ml|xml|json)$/i;

function unreadable(path: string, cause: unknown): DepthwattError {
  const why = hasCode(cause, "ENOENT")
    ? "no such file"
    : hasCode(cause, "EACCES")
      ? "no permission"
      : String(cause);
  return new DepthwattError("CALIBRATION_UNREADABLE", `${path}: expected a calibration file, found ${why}.`, {
    cause,
    context: { file: path },
  });
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** A folder stands for its calibration files, left before right, intrinsics before extrinsics. */
function filesOf(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => EXTENSIONS.test(name));
  const pick = (first: RegExp, second: RegExp): string[] =>
    [first, second].flatMap((word) => names.filter((name) => word.test(name)).slice(0, 1));
  for (const pair of [pick(/^left\b/i, /^right\b/i), pick(/^intrinsics?\./i, /^extrinsics?\./i)]) {
    if (pair.length === 2) return pair.map((name) => join(folder, name));
  }
  const camchains = names.filter((name) => /camchain/i.test(name));
  const alone = names.length === 1 ? names : camchains.length === 1 ? camchains : [];
  if (alone.length === 1) return alone.map((name) => join(folder, name));
  throw new DepthwattError(
    "CALIBRATION_UNREADABLE",
    `${folder}: expected left and right, intrinsics and extrinsics, or a single calibration file, found ` +
      `${names.length === 0 ? "none" : names.join(", ")}.`,
    { hint: "Name the file, or two separated by a comma.", context: { folder, names } },
  );
}

function read(path: string): ParsedFile {
  let text: string;
  try {
    checkHasEnd(path, MAX_TEXT_BYTES);
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw unreadable(path, cause);
  }
  return parseCalibrationText(path, text);
}

function single(files: readonly ParsedFile[], format: string): ParsedFile {
  const [first, ...others] = files;
  if (others.length === 0) return first!;
  const found = files.map(({ file }) => basename(file)).join(", ");
  throw refusal({ file: first!.file, key: "files", expected: `one file for a ${format}`, found });
}

function draftOf(files: readonly ParsedFile[], options: LoadCalibrationOptions): CalibrationDraft {
  if (files.some(isOwnJson)) return readOwnJson(single(files, "depthwatt calibration"));
  if (files.some(isKalibr))
    return readKalibr(single(files.filter(isKalibr), "Kalibr camchain"), options.leftName);
  if (files.some(isRos)) {
    const [left, right] = files;
    if (files.length === 2) return readRos(left!, right!);
    const hint =
      "Give both files, left first, separated by a comma, or the folder that holds left.yaml and right.yaml.";
    const found = `${files.length}`;
    throw refusal({
      file: left!.file,
      key: "files",
      expected: "the left and the right camera_info file",
      found,
      hint,
    });
  }
  if (files.some(isOpenCv)) return readOpenCv(files);
  const keys = files.flatMap(({ root }) => Object.keys(root)).slice(0, 6);
  throw new DepthwattError(
    "CALIBRATION_UNREADABLE",
    `${files.map(({ file }) => file).join(", ")}: expected an OpenCV, ROS camera_info, Kalibr or depthwatt calibration, ` +
      `found the keys ${keys.join(", ") || "(none)"}.`,
    { context: { files: files.map(({ file }) => file), keys } },
  );
}

/**
 * Reads, checks and hashes a stereo calibration.
 *
 * @param source one path, several (ROS: left, right; OpenCV: intrinsics, extrinsics), several in one text separated by
 *   commas, or a folder that holds them
 * @returns float64 values; T in metres; R orthonormalised; and the warnings to show
 * @throws DepthwattError CALIBRATION_UNREADABLE (path, syntax, unknown format), CALIBRATION_INVALID (a value no stereo
 *   pair can have), CALIBRATION_SIZE_MISMATCH; each names file, key, what was expected and what was found
 */
export function loadStereoCalibration(
  source: string | readonly string[],
  options: LoadCalibrationOptions = {},
): LoadedCalibration {
  const paths = typeof source === "string" ? source.split(",").map((path) => path.trim()) : source;
  if (paths.includes("")) {
    const text = `Expected a path on each side of a comma, found ${JSON.stringify(source)}.`;
    throw new DepthwattError("CALIBRATION_UNREADABLE", text, { context: { source } });
  }
  const files = paths.flatMap((path) => (isFolder(path) ? filesOf(path) : [path]));
  const draft = draftOf(files.map(read), options);
  return { ...validate(draft, files, options), format: draft.format };
}

/**
 * The same from the text of depthwatt's own calibration file, which came from elsewhere than a file of its own.
 * @param name what errors call it
 * @throws DepthwattError as loadStereoCalibration
 */
export function parseStereoCalibration(text: string, name: string): LoadedCalibration {
  const draft = draftOf([parseCalibrationText(name, text)], {});
  return { ...validate(draft, [name], {}), format: draft.format };
}
