// SPDX-License-Identifier: Apache-2.0
// Matches pairs of pictures, each automatically: its own size, its own engine, nothing left over from the pair before. `match` and `batch`
// go through here, so that their results are the same.
import { type EnginePicture, readEnginePicture } from "../../camera/index.js";
import { DepthwattError, hasCode } from "../../core/index.js";
import {
  type Algorithm,
  type DroppedPixels,
  type EngineInfo,
  type EngineOptions,
  type NativeEngine,
  openEngine,
  type PointsParameters,
  perCause,
  readsColours,
  withoutColours,
} from "../../cuda/index.js";
import type { Config } from "../config/index.js";
import type { InputLayout } from "../contracts/rig.js";
import { configuredCalibration } from "../pipeline/calibration.js";
import { engineOptionsFrom } from "../pipeline/engine-options.js";
import { type PipelineGeometry, rectifiedGeometry, uncalibrated } from "../pipeline/geometry.js";
import { Examiner, type Limits, lookGeometryFrom, type PairProblem } from "../rig/health/index.js";
import { atRangeEndPercent, neededDisparities } from "./search-range.js";

export interface Matched {
  width: number;
  height: number;
  disparityQ4: Int16Array;
  milliseconds: number;
  validPercent: number;
  /** Before filling. */
  matchedPercent: number;
  /** Share of the matched pixels; undefined if there is none. */
  atRangeEndPercent: number | undefined;
  /** Percent of all pixels, by cause. */
  droppedPercent: DroppedPixels;
  info: EngineInfo;
  /** Where they were asked for. */
  points?: { bytes: Uint8Array; form: PointsParameters } | undefined;
}

/** A pair that is ready to be matched. The caller computes or closes it. */
export interface OpenedPair {
  width: number;
  height: number;
  geometry: PipelineGeometry;
  layout: InputLayout;
  left: EnginePicture;
  right: EnginePicture;
  engine: NativeEngine;
  options: EngineOptions;
  points?: PointsParameters | undefined;
}

/** Sentences for the user, such as a calibration's warning. */
export type Note = (text: string) => void;

async function geometryFor(
  config: Config,
  width: number,
  height: number,
  note: Note,
): Promise<PipelineGeometry> {
  const loaded = await configuredCalibration(config, { width, height });
  if (loaded === undefined) return uncalibrated(width, height);
  for (const warning of loaded.warnings) note(`warning: ${warning}`);
  return rectifiedGeometry(loaded.calibration, config.calibration.crop);
}

/**
 * Reads both images, in colours if both have them and the matcher or the points read them.
 * @param colours whether points read colours
 * @throws DepthwattError SOURCE_UNREADABLE, IMAGE_UNSUPPORTED, IMAGE_SIZE_MISMATCH
 */
export async function readPair(
  leftFile: string,
  rightFile: string,
  algorithm: Algorithm,
  note: Note,
  colours = false,
): Promise<[EnginePicture, EnginePicture]> {
  const both = (wanted: boolean) =>
    Promise.all([readEnginePicture(leftFile, wanted), readEnginePicture(rightFile, wanted)]);
  const pair = await both(colours || readsColours(algorithm));
  const grey = pair.some(({ format }) => format !== "RGB8");
  if (grey && readsColours(algorithm)) note(withoutColours(algorithm, "the pictures have"));
  // One camera in colours and one without: both in grey.
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

/**
 * Rectifies where a calibration is given.
 * @param points whether points are made as well
 * @throws DepthwattError CALIBRATION_*, ENGINE_*, BACKEND_UNAVAILABLE
 */
export async function openPair(
  config: Config,
  [left, right]: readonly [EnginePicture, EnginePicture],
  note: Note,
  points = false,
): Promise<OpenedPair> {
  const { width: inputWidth, height: inputHeight } = left;
  const geometry = await geometryFor(config, inputWidth, inputHeight, note);
  const { width, height } = geometry;
  const strideBytes = (left.format === "GREY" ? 1 : left.format === "Y16" ? 2 : 3) * inputWidth;
  const description = {
    width: inputWidth,
    height: inputHeight,
    leftFormat: left.format,
    rightFormat: right.format,
    leftStrideBytes: strideBytes,
    rightStrideBytes: strideBytes,
  };
  const limitsDepth = config.depth.minMetres > 0 || config.depth.maxMetres > 0;
  const known = points || limitsDepth ? geometry : { ...geometry, depth: undefined };
  const options = engineOptionsFrom(config, { description }, known, points ? { points } : {});
  const engine = await openEngine(options);
  return {
    width,
    height,
    geometry,
    layout: description,
    left,
    right,
    engine,
    options,
    points: options.points,
  };
}

const viewBytes = ({ data }: EnginePicture) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/**
 * Finds out why little of a pair was matched, or whether both images are the same.
 * @returns undefined if there is no problem, or if the images are too small
 */
export function examinePair(pair: OpenedPair, limits: Limits): PairProblem | undefined {
  try {
    const examiner = new Examiner(pair.layout, lookGeometryFrom(pair.geometry));
    examiner.add({ left: viewBytes(pair.left), right: viewBytes(pair.right) });
    return examiner.finish(limits).problem;
  } catch (error) {
    if (hasCode(error, "ENGINE_PARAMETER")) return undefined;
    throw error;
  }
}

/** @returns the number of disparities that the scene needs, if it is larger than match.numDisparities */
export const pairDisparities = ({ options, left, right }: OpenedPair): Promise<number | undefined> =>
  neededDisparities(options, { left: viewBytes(left), right: viewBytes(right) });

export const isOneImage = ({ left, right }: OpenedPair): boolean =>
  Buffer.compare(viewBytes(left), viewBytes(right)) === 0;

/** Matches and refines, and closes the pair. @throws DepthwattError ENGINE_FAILED */
export async function computePair(pair: OpenedPair): Promise<Matched> {
  const { width, height, left, right, engine, points: form } = pair;
  try {
    const { validPixels, matchedPixels, droppedPixels } = await engine.compute(
      viewBytes(left),
      viewBytes(right),
    );
    const milliseconds = engine.stageMilliseconds.reduce((sum, ms) => (Number.isNaN(ms) ? sum : sum + ms), 0);
    const slot = engine.slots[0]!;
    const disparityQ4 = slot.disparityQ4.slice();
    return {
      width,
      height,
      disparityQ4,
      milliseconds,
      validPercent: (100 * validPixels) / (width * height),
      matchedPercent: (100 * matchedPixels) / (width * height),
      atRangeEndPercent: atRangeEndPercent(slot, pair.options.match),
      droppedPercent: perCause((cause) => (100 * droppedPixels[cause]) / (width * height)),
      info: engine.info,
      ...(form && { points: { bytes: slot.points.slice(), form } }),
    };
  } finally {
    engine.close();
  }
}
