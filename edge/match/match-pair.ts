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
import { configuredGeometry, type PipelineGeometry } from "../pipeline/geometry.js";
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
  for (const warning of loaded?.warnings ?? []) note(`warning: ${warning}`);
  return configuredGeometry(config, { width, height }, loaded?.calibration);
}

/** A picture that is read when it is needed. */
export interface PictureSource {
  /** Its name in errors. */
  name: string;
  read(colours: boolean): Promise<EnginePicture>;
}

const pictureFile = (file: string): PictureSource => ({
  name: file,
  read: (colours) => readEnginePicture(file, colours),
});

/** readPictures() of two files. */
export const readPair = (
  leftFile: string,
  rightFile: string,
  algorithm: Algorithm,
  note: Note,
  colours = false,
): Promise<[EnginePicture, EnginePicture]> =>
  readPictures([pictureFile(leftFile), pictureFile(rightFile)], algorithm, note, colours);

/**
 * Reads both images, in colours if both have them and the matcher or the points read them.
 * @param colours whether points read colours
 * @throws DepthwattError SOURCE_UNREADABLE, IMAGE_UNSUPPORTED, IMAGE_SIZE_MISMATCH
 */
export async function readPictures(
  sources: readonly [PictureSource, PictureSource],
  algorithm: Algorithm,
  note: Note,
  colours = false,
): Promise<[EnginePicture, EnginePicture]> {
  const both = (wanted: boolean) => Promise.all([sources[0].read(wanted), sources[1].read(wanted)]);
  const pair = await both(colours || readsColours(algorithm));
  const grey = pair.some(({ format }) => format !== "RGB8");
  if (grey && readsColours(algorithm)) note(withoutColours(algorithm, "the pictures have"));
  // One camera in colours and one without: both in grey.
  const [left, right] = grey ? await both(false) : pair;
  const [leftName, rightName] = sources.map(({ name }) => name);
  if (left.width !== right.width || left.height !== right.height) {
    throw new DepthwattError(
      "IMAGE_SIZE_MISMATCH",
      `Expected two images of one size, got ${left.width}x${left.height} in ${leftName} and ` +
        `${right.width}x${right.height} in ${rightName}.`,
    );
  }
  if (left.format !== right.format) {
    const bits = ({ data }: EnginePicture) => 8 * data.BYTES_PER_ELEMENT;
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `Expected two images of one depth, got ${bits(left)} bit in ${leftName} and ${bits(right)} bit in ${rightName}.`,
    );
  }
  return [left, right];
}

/** How a pair of pictures is in memory: rows without gaps. */
export function pictureLayout({ width, height, format }: Omit<EnginePicture, "data">): InputLayout {
  const strideBytes = (format === "GREY" ? 1 : format === "Y16" ? 2 : 3) * width;
  return {
    width,
    height,
    leftFormat: format,
    rightFormat: format,
    leftStrideBytes: strideBytes,
    rightStrideBytes: strideBytes,
  };
}

/**
 * Opens an engine for pairs of one layout; it rectifies where a calibration is given.
 * @param points whether points are made as well
 * @throws DepthwattError CALIBRATION_*, ENGINE_*, BACKEND_UNAVAILABLE
 */
export async function openMatcher(
  config: Config,
  layout: InputLayout,
  note: Note,
  points = false,
): Promise<Pick<OpenedPair, "geometry" | "options" | "engine">> {
  const geometry = await geometryFor(config, layout.width, layout.height, note);
  const limitsDepth = config.depth.minMetres > 0 || config.depth.maxMetres > 0;
  const known = points || limitsDepth ? geometry : { ...geometry, depth: undefined };
  const options = engineOptionsFrom(config, { description: layout }, known, points ? { points } : {});
  return { geometry, options, engine: await openEngine(options) };
}

/**
 * Opens an engine for one pair.
 * @throws DepthwattError as openMatcher()
 */
export async function openPair(
  config: Config,
  [left, right]: readonly [EnginePicture, EnginePicture],
  note: Note,
  points = false,
): Promise<OpenedPair> {
  const layout = pictureLayout(left);
  const opened = await openMatcher(config, layout, note, points);
  const { width, height } = opened.geometry;
  return { ...opened, width, height, layout, left, right, points: opened.options.points };
}

export const pictureBytes = ({ data }: EnginePicture) =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/**
 * Finds out why little of a pair was matched, or whether both images are the same.
 * @returns undefined if there is no problem, or if the images are too small
 */
export function examinePair(pair: OpenedPair, limits: Limits): PairProblem | undefined {
  try {
    const examiner = new Examiner(pair.layout, lookGeometryFrom(pair.geometry));
    examiner.add({ left: pictureBytes(pair.left), right: pictureBytes(pair.right) });
    return examiner.finish(limits).problem;
  } catch (error) {
    if (hasCode(error, "ENGINE_PARAMETER")) return undefined;
    throw error;
  }
}

/** @returns the number of disparities that the scene needs, if it is larger than match.numDisparities */
export const pairDisparities = ({ options, left, right }: OpenedPair): Promise<number | undefined> =>
  neededDisparities(options, { left: pictureBytes(left), right: pictureBytes(right) });

export const isOneImage = ({ left, right }: OpenedPair): boolean =>
  Buffer.compare(pictureBytes(left), pictureBytes(right)) === 0;

/** Matches and refines, and closes the pair. @throws DepthwattError ENGINE_FAILED */
export async function computePair(pair: OpenedPair): Promise<Matched> {
  const { width, height, left, right, engine, points: form } = pair;
  try {
    const { validPixels, matchedPixels, droppedPixels } = await engine.compute(
      pictureBytes(left),
      pictureBytes(right),
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
