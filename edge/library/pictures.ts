// SPDX-License-Identifier: Apache-2.0
// Pictures in the forms in which programs have them: files, encoded bytes, samples, instances of sharp.
import { fileURLToPath } from "node:url";
import {
  decodeEnginePicture,
  type EnginePicture,
  pictureFromSamples,
  readEnginePicture,
} from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import { type PictureSource, readPictures } from "../match/match-pair.js";
import { configFrom, type DepthwattOptions, warningHandler } from "./options.js";

/** Samples row by row without gaps: 8 or 16 bits; channels: 1 grey, 3 RGB, 4 RGB and opacity. Default: 1. */
export interface RawImage {
  data: Uint8Array | Uint8ClampedArray | Uint16Array;
  width: number;
  height: number;
  channels?: 1 | 3 | 4;
}

/** The part of an instance of sharp that the library uses. */
export interface SharpInstance {
  clone(): SharpInstance;
  raw(): SharpInstance;
  toBuffer(options: {
    resolveWithObject: true;
  }): Promise<{ data: Uint8Array; info: { width: number; height: number; channels: number } }>;
}

/** A file (PNG, JPEG, PGM, PPM), its bytes, samples, or an instance of sharp. */
export type ImageInput = string | URL | Uint8Array | RawImage | SharpInstance;

/** Two images of one size and format, ready for an engine. */
export interface ImagePair {
  readonly left: EnginePicture;
  readonly right: EnginePicture;
}

function readSamples({ data, width, height, channels = 1 }: RawImage, name: string) {
  const length = width * height * channels;
  if (!(Number.isInteger(width) && Number.isInteger(height) && width > 0 && height > 0))
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `${name}: expected a size in pixels, got ${width}x${height}`,
    );
  if (data.length !== length) {
    throw new DepthwattError(
      "IMAGE_SIZE_MISMATCH",
      `${name}: expected ${length} samples (${width} x ${height} x ${channels}), got ${data.length}`,
    );
  }
  const samples = data instanceof Uint16Array ? data : new Uint8Array(data.buffer, data.byteOffset, length);
  return { samples, width, height, channels };
}

async function readSharpSamples(image: SharpInstance, name: string) {
  const { data, info } = await image.clone().raw().toBuffer({ resolveWithObject: true });
  const pixels = info.width * info.height * info.channels;
  if (data.length !== pixels) {
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `${name}: expected samples of 8 bits from sharp, got ${(8 * data.length) / pixels} bits`,
      { hint: "Give the file itself: its 16 bits are used." },
    );
  }
  return { samples: data, ...info };
}

function pictureSource(input: ImageInput, name: string): PictureSource {
  if (typeof input === "string") return { name: input, read: (colours) => readEnginePicture(input, colours) };
  if (input instanceof URL) return pictureSource(fileURLToPath(input), name);
  if (input instanceof Uint8Array)
    return { name, read: (colours) => decodeEnginePicture(input, name, colours) };
  if (typeof input !== "object" || input === null || !("data" in input || "toBuffer" in input)) {
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `${name}: expected a file, bytes, { data, width, height } or an instance of sharp, got ${input === null ? "null" : typeof input}`,
    );
  }
  const read = async (colours: boolean) => {
    const samples = "data" in input ? readSamples(input, name) : await readSharpSamples(input, name);
    return pictureFromSamples(samples, colours);
  };
  return { name, read };
}

/**
 * Reads two images for an engine, in colours where the matcher uses them.
 * @throws DepthwattError SOURCE_UNREADABLE, IMAGE_UNSUPPORTED, IMAGE_SIZE_MISMATCH
 */
export async function openPair(
  left: ImageInput,
  right: ImageInput,
  options: DepthwattOptions = {},
): Promise<ImagePair> {
  const { algorithm } = configFrom(options).match;
  const sources = [pictureSource(left, "left image"), pictureSource(right, "right image")] as const;
  const [leftPicture, rightPicture] = await readPictures(sources, algorithm, warningHandler(options));
  return { left: leftPicture, right: rightPicture };
}
