// SPDX-License-Identifier: Apache-2.0
// A data set on disk: DIR/dataset.json, and the pictures, ground truth and masks of its scenes.
import { join } from "node:path";
import {
  type EnginePicture,
  type FloatImage,
  type GreyImage,
  readDisparity,
  readEnginePicture,
  readGreyImage,
} from "../../camera/index.js";
import { DepthwattError, hasCode, MAX_TEXT_BYTES, readRegularFileAsync } from "../../core/index.js";
import { readBenchmark } from "./benchmarks.js";
import { datasetSchema, type MaskFile, type Measure, type SceneEntry } from "./scene-entry.js";

export interface Scene {
  name: string;
  /** Grey u8 [height][width], or RGB8 [height][width][3] where colours were asked for and both pictures have them. */
  left: Uint8Array;
  right: Uint8Array;
  format: "GREY" | "RGB8";
  width: number;
  height: number;
  /** Left disparities in pixels, [height][width]; +Infinity where there is none. */
  truth: Float32Array;
  /** By name, [height][width]: pixels to evaluate. */
  masks: ReadonlyMap<string, Uint8Array>;
  numDisparities: number;
  badThresholdPx: number;
  /** Measures of the scene's benchmark; absent for a set without its own. */
  measures?: readonly Measure[] | undefined;
  /** Weight in the benchmark's average, 1 by default. */
  weight?: number | undefined;
  /** Pixels of the benchmark's full size per pixel of the images, 1 by default. */
  pixelScale?: number | undefined;
}

/** The value of a mask's pixel that is evaluated; others mean near, outside or occluded, depending on the set. */
const isEvaluated: MaskFile["counts"] = (value) => value === 255;
const DEFAULT_THRESHOLD_PX = 1;

/**
 * Lists the scenes of folder/dataset.json, or of a benchmark as downloaded.
 * @throws DepthwattError DATASET_INVALID naming the file, and the key where there is one
 */
export async function readDataset(folder: string): Promise<SceneEntry[]> {
  const file = join(folder, "dataset.json");
  let content: unknown;
  try {
    // Some editors begin a file with a byte order mark, which is no JSON.
    content = JSON.parse(
      (await readRegularFileAsync(file, MAX_TEXT_BYTES)).toString().replace(/^\uFEFF/, ""),
    );
  } catch (cause) {
    const entries = hasCode(cause, "ENOENT") ? await readBenchmark(folder) : undefined;
    if (entries !== undefined) return entries;
    const found = cause instanceof SyntaxError ? `no JSON: ${cause.message}` : (cause as Error).message;
    throw new DepthwattError("DATASET_INVALID", `expected a data set at ${file}, found ${found}`, {
      cause,
      context: { file },
    });
  }
  const parsed = datasetSchema.safeParse(content);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const key = issue.path.join(".") || "the whole file";
    throw new DepthwattError("DATASET_INVALID", `${file}: ${key}: ${issue.message}`, {
      context: { file, key },
    });
  }
  return parsed.data.scenes.map((scene) => ({ ...scene, folder }));
}

/** 16-bit pictures keep their upper byte: the engine's test input is 8 bit. */
function toEightBit({ data }: GreyImage): Uint8Array {
  return data instanceof Uint8Array ? data : Uint8Array.from(data, (value) => value >> 8);
}

function sameSize(file: string, image: GreyImage | FloatImage, expected: GreyImage): void {
  if (image.width === expected.width && image.height === expected.height) return;
  throw new DepthwattError(
    "IMAGE_SIZE_MISMATCH",
    `${file}: expected ${expected.width} x ${expected.height} as its scene's left image, found ${image.width} x ${image.height}`,
    { context: { file } },
  );
}

/** @param colours RGB8 where both pictures have colours */
async function readPair(left: string, right: string, colours: boolean) {
  const pictures = await Promise.all([left, right].map((file) => readEnginePicture(file, colours)));
  if (pictures.every(({ format }) => format === "RGB8")) return { pictures, format: "RGB8" as const };
  const greys = colours
    ? await Promise.all([left, right].map((file) => readEnginePicture(file, false)))
    : pictures;
  return { pictures: greys, format: "GREY" as const };
}

/** Reads the files of one scene. @throws DepthwattError SOURCE_UNREADABLE, IMAGE_UNSUPPORTED, IMAGE_SIZE_MISMATCH */
export async function readScene(entry: SceneEntry, colours = false): Promise<Scene> {
  const path = (name: string) => join(entry.folder, name);
  const { pictures, format } = await readPair(path(entry.left), path(entry.right), colours);
  const [left, right] = pictures as [EnginePicture, EnginePicture];
  sameSize(path(entry.right), right, left);
  const { path: truthPath, scale, invalid } = entry.groundTruth;
  const truth = await readDisparity(path(truthPath), { scale, invalid });
  sameSize(path(truthPath), truth, left);
  const masks = new Map<string, Uint8Array>();
  for (const [name, mask] of Object.entries(entry.masks ?? {})) {
    const { path: file, counts } = typeof mask === "string" ? { path: mask, counts: isEvaluated } : mask;
    const image = await readGreyImage(path(file));
    sameSize(path(file), image, left);
    masks.set(
      name,
      Uint8Array.from(image.data, (value) => (counts(value) ? 1 : 0)),
    );
  }
  return {
    name: entry.name,
    left: toEightBit(left),
    right: toEightBit(right),
    format,
    width: left.width,
    height: left.height,
    truth: truth.data,
    masks,
    numDisparities: entry.numDisparities,
    badThresholdPx: entry.badThresholdPx ?? DEFAULT_THRESHOLD_PX,
    measures: entry.measures,
    weight: entry.weight,
    pixelScale: entry.pixelScale,
  };
}
