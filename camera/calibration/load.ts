// SPDX-License-Identifier: Apache-2.0
// Reads a stereo calibration from the user's files. The content decides the format, never the name.
import { readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  DepthwattError,
  hasCode,
  readRegularFile,
  readRegularFileAsync,
  withFileTimeout,
} from "../../core/index.js";
import type { StereoCalibration } from "./calibration.js";
import { type CalibrationDraft, type FormatName, type ParsedFile, refusal } from "./draft.js";
import { parseCalibrationText } from "./parse.js";
import { isKitti, isMiddlebury, readKitti, readMiddlebury } from "./read-benchmark.js";
import { isOwnJson, readOwnJson } from "./read-json.js";
import { isKalibr, readKalibr } from "./read-kalibr.js";
import { isOpenCv, readOpenCv } from "./read-opencv.js";
import { isRos, readRos } from "./read-ros.js";
import { isRosTransforms } from "./read-ros-transforms.js";
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

/** Calibration programs write a few kilobytes, or 100 with the chessboard corners. Frames wait while YAML is parsed. */
const MAX_CALIBRATION_BYTES = 1 << 18;
const EXTENSIONS = /\.(ya?ml|xml|json)$/i;

function unreadable(path: string, cause: unknown): DepthwattError {
  const why = hasCode(cause, "ENOENT")
    ? "no such file"
    : hasCode(cause, "EACCES")
      ? "no permission"
      : (cause as Error).message;
  return new DepthwattError("CALIBRATION_UNREADABLE", `${path}: expected a calibration file, found ${why}.`, {
    cause,
    context: { file: path },
  });
}

/** A folder stands for its calibration files, left before right, intrinsics before extrinsics. */
function pickFiles(folder: string, entries: readonly string[]): string[] {
  const names = entries.filter((name) => EXTENSIONS.test(name));
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

function readText(path: string): string {
  try {
    return readRegularFile(path, MAX_CALIBRATION_BYTES).toString();
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

async function textOfAsync(path: string): Promise<string> {
  try {
    return (await readRegularFileAsync(path, MAX_CALIBRATION_BYTES)).toString();
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** Returns whether the path that could not be read is a folder. */
const isFolder = (error: unknown): boolean => hasCode((error as Error).cause, "EISDIR");

/** The files at this path: itself, or those of a folder. */
function filesAt(path: string): ParsedFile[] {
  try {
    return [parseCalibrationText(path, readText(path))];
  } catch (error) {
    if (!isFolder(error)) throw error;
  }
  return pickFiles(path, readdirSync(path)).map((file) => parseCalibrationText(file, readText(file)));
}

/** Does what filesAt does, off the JavaScript thread. */
async function filesAtAsync(path: string): Promise<ParsedFile[]> {
  try {
    return [parseCalibrationText(path, await textOfAsync(path))];
  } catch (error) {
    if (!isFolder(error)) throw error;
  }
  const files = pickFiles(path, await withFileTimeout(readdir(path)));
  return Promise.all(files.map(async (file) => parseCalibrationText(file, await textOfAsync(file))));
}

function single(files: readonly ParsedFile[], format: string): ParsedFile {
  const [first, ...others] = files;
  if (others.length === 0) return first!;
  const found = files.map(({ file }) => basename(file)).join(", ");
  throw refusal({ file: first!.file, key: "files", expected: `one file for a ${format}`, found });
}

function parseDraft(files: readonly ParsedFile[], options: LoadCalibrationOptions): CalibrationDraft {
  if (files.some(isOwnJson)) return readOwnJson(single(files, "depthwatt calibration"));
  if (files.some(isKalibr))
    return readKalibr(single(files.filter(isKalibr), "Kalibr camchain"), options.leftName);
  if (files.some(isRos)) {
    const [left, right, ...others] = files.filter((file) => !isRosTransforms(file));
    if (left !== undefined && right !== undefined)
      return readRos(left, right, others, files.filter(isRosTransforms));
    const hint =
      "Give both files, left first, separated by a comma, or the folder that holds left.yaml and right.yaml.";
    throw refusal({
      file: left!.file,
      key: "files",
      expected: "the left and the right camera_info file",
      found: "1",
      hint,
    });
  }
  if (files.some(isOpenCv)) return readOpenCv(files);
  if (files.some(isMiddlebury)) return readMiddlebury(single(files, "Middlebury calibration"));
  if (files.some(isKitti)) return readKitti(single(files, "KITTI calibration"));
  const keys = files.flatMap(({ root }) => Object.keys(root)).slice(0, 6);
  throw new DepthwattError(
    "CALIBRATION_UNREADABLE",
    `${files.map(({ file }) => file).join(", ")}: expected an OpenCV, ROS camera_info, Kalibr, Middlebury, KITTI or depthwatt calibration, ` +
      `found the keys ${keys.join(", ") || "(none)"}.`,
    { context: { files: files.map(({ file }) => file), keys } },
  );
}

function splitPaths(source: string | readonly string[]): readonly string[] {
  const paths = typeof source === "string" ? source.split(",").map((path) => path.trim()) : source;
  if (!paths.includes("")) return paths;
  const text = `Expected a path on each side of a comma, found ${JSON.stringify(source)}.`;
  throw new DepthwattError("CALIBRATION_UNREADABLE", text, { context: { source } });
}

function validateFiles(files: readonly ParsedFile[], options: LoadCalibrationOptions): LoadedCalibration {
  const draft = parseDraft(files, options);
  const names = files.map(({ file }) => file);
  return { ...validate(draft, names, options), format: draft.format };
}

/**
 * Reads, checks and hashes a stereo calibration.
 *
 * @param source one path, several (ROS: left, right and others; OpenCV: intrinsics, extrinsics), several in one text
 *   separated by commas, or a folder that holds them
 * @returns float64 values; T in metres; R orthonormalised; and the warnings to show
 * @throws DepthwattError CALIBRATION_UNREADABLE (path, syntax, unknown format), CALIBRATION_INVALID (a value no stereo
 *   pair can have), CALIBRATION_SIZE_MISMATCH; each names file, key, what was expected and what was found
 */
export function loadStereoCalibration(
  source: string | readonly string[],
  options: LoadCalibrationOptions = {},
): LoadedCalibration {
  return validateFiles(splitPaths(source).flatMap(filesAt), options);
}

/** Does what loadStereoCalibration does, and reads the files off the JavaScript thread. */
export async function loadStereoCalibrationAsync(
  source: string | readonly string[],
  options: LoadCalibrationOptions = {},
): Promise<LoadedCalibration> {
  const files = await Promise.all(splitPaths(source).map(filesAtAsync));
  return validateFiles(files.flat(), options);
}

/**
 * The same from the text of depthwatt's own calibration file, which came from elsewhere than its own file.
 * @param name what errors call it
 * @throws DepthwattError as loadStereoCalibration
 */
export function parseStereoCalibration(text: string, name: string): LoadedCalibration {
  return validateFiles([parseCalibrationText(name, text)], {});
}
