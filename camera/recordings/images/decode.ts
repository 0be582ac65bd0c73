// SPDX-License-Identifier: Apache-2.0
// Reads a picture by its first bytes, never by its name. PNG and JPEG are decoded by libvips on its own threads: the
// JavaScript thread only turns colour into grey.
import { DepthwattError, hasCode, readRegularFileAsync } from "../../../core/index.js";
import { cropColumns, type FloatImage, type GreyImage, greyFromSamples, type RgbImage } from "./image.js";
import { loadImageLibrary } from "./image-library.js";
import { decodePfm, decodePgm, decodePpm } from "./netpbm.js";

/** Largest picture read: 64 megapixels. A damaged header must not ask for all memory. */
const LIMIT_PIXELS = 1 << 26;
const LARGEST_FILE_BYTES = 1 << 30;

type FileKind = "png" | "jpeg" | "pgm" | "ppm" | "pfm";

/** Returns the file kind that the first bytes indicate, or undefined. */
export function sniffImage(bytes: Uint8Array): FileKind | undefined {
  const [a, b, c, d] = bytes;
  if (a === 0x89 && b === 0x50 && c === 0x4e && d === 0x47) return "png";
  if (a === 0xff && b === 0xd8 && c === 0xff) return "jpeg";
  if (a === 0x50 && (b === 0x32 || b === 0x35)) return "pgm";
  if (a === 0x50 && (b === 0x33 || b === 0x36)) return "ppm";
  if (a === 0x50 && (b === 0x66 || b === 0x46)) return "pfm";
  return undefined;
}

/** @throws DepthwattError SOURCE_UNREADABLE, with Node's error as its cause */
export async function readImageBytes(file: string): Promise<Uint8Array> {
  try {
    return await readRegularFileAsync(file, LARGEST_FILE_BYTES);
  } catch (cause) {
    const found = hasCode(cause, "ENOENT")
      ? "no such file"
      : hasCode(cause, "EACCES")
        ? "permission denied"
        : hasCode(cause, "EISDIR")
          ? "a folder"
          : String((cause as Error).message);
    throw new DepthwattError("SOURCE_UNREADABLE", `expected a readable image at ${file}, found: ${found}`, {
      cause,
      context: { file },
    });
  }
}

function unsupported(bytes: Uint8Array, name: string, expected: string): DepthwattError {
  const start = Buffer.from(bytes.subarray(0, 4)).toString("hex");
  const found =
    bytes.length === 0 ? "an empty file" : (sniffImage(bytes) ?? `a file that begins with 0x${start}`);
  return new DepthwattError("IMAGE_UNSUPPORTED", `${name}: expected ${expected}, found ${found}`, {
    hint: `Give ${expected}.`,
    context: { file: name },
  });
}

/**
 * Returns libvips' message about a file, in one line. If two images are decoded at once, one may have taken the other's
 * message; sharp then names its own option.
 */
export function damageWords(message: string): string {
  if (/failOn/.test(message)) return "its end is missing, or a part of it cannot be read";
  return message.replaceAll(/\s*\n\s*/g, " ").replace(/\s*:\s*$/, "");
}

/** Samples as the file holds them: palettes expanded, colour profiles ignored, 16 bit kept. */
async function decodeSamples(bytes: Uint8Array, kind: "png" | "jpeg", name: string) {
  // PNG header: bit depth at byte 24, colour type at 25 (0 and 4 are grey). JPEG is 8 bit.
  const deep = kind === "png" && bytes[24] === 16;
  const grey = kind === "png" && (bytes[25] === 0 || bytes[25] === 4);
  const space = grey ? (deep ? "grey16" : "b-w") : deep ? "rgb16" : "srgb";
  const sharp = await loadImageLibrary();
  try {
    const { data, info } = await sharp(bytes, { ignoreIcc: true, limitInputPixels: LIMIT_PIXELS })
      .toColourspace(space)
      .raw(deep ? { depth: "ushort" } : {})
      .toBuffer({ resolveWithObject: true });
    const samples = deep
      ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2)
      : new Uint8Array(data.buffer, data.byteOffset, data.length);
    return { samples, width: info.width, height: info.height, channels: info.channels };
  } catch (cause) {
    const reason = damageWords(String((cause as Error).message));
    throw new DepthwattError(
      "SOURCE_UNREADABLE",
      `${name}: expected a whole ${kind.toUpperCase()} of at most ${LIMIT_PIXELS / 1e6} megapixels, found damage: ${reason}`,
      { cause, context: { file: name } },
    );
  }
}

/** Decodes an image: one sample a pixel, or three and more. */
async function decodePicture(bytes: Uint8Array, name: string): Promise<PictureSamples> {
  const kind = sniffImage(bytes);
  if (kind === "png" || kind === "jpeg") return decodeSamples(bytes, kind, name);
  if (kind !== "pgm" && kind !== "ppm") throw unsupported(bytes, name, "PNG, JPEG, PGM or PPM");
  const { data: samples, width, height } = kind === "pgm" ? decodePgm(bytes, name) : decodePpm(bytes, name);
  return { samples, width, height, channels: kind === "pgm" ? 1 : 3 };
}

/**
 * Grey picture from PNG (any kind), JPEG, PGM or PPM bytes.
 * @param name what errors call it: the file's path
 * @returns u16 for 16-bit PNG and for PGM whose maximum is above 255, else u8; values as stored
 * @throws DepthwattError IMAGE_UNSUPPORTED (another format), SOURCE_UNREADABLE (damaged)
 */
export async function decodeGreyImage(bytes: Uint8Array, name: string): Promise<GreyImage> {
  const { samples, width, height, channels } = await decodePicture(bytes, name);
  return greyFromSamples(samples, width, height, channels);
}

/** A picture as the engine takes it: rows without gaps, Y16 little-endian. */
export interface EnginePicture {
  data: Uint8Array | Uint16Array;
  width: number;
  height: number;
  format: "GREY" | "Y16" | "RGB8";
}

/** Samples of a picture, row by row; a pixel has one sample (grey), two (and opacity), three (R, G, B) or more. */
export interface PictureSamples {
  samples: Uint8Array | Uint16Array;
  width: number;
  height: number;
  channels: number;
}

/**
 * Makes a picture for a matcher.
 * @param colours false: grey. True: RGB8 where there are colours, of 16 bits the upper 8; grey stays grey.
 */
export function pictureFromSamples(
  { samples, width, height, channels }: PictureSamples,
  colours: boolean,
): EnginePicture {
  if (!colours || channels < 3) {
    const { data } = greyFromSamples(samples, width, height, channels);
    return { data, width, height, format: data instanceof Uint16Array ? "Y16" : "GREY" };
  }
  if (channels === 3 && samples instanceof Uint8Array)
    return { data: samples, width, height, format: "RGB8" };
  const shift = samples instanceof Uint16Array ? 8 : 0;
  const data = new Uint8Array(width * height * 3);
  for (let i = 0, s = 0; i < data.length; i += 3, s += channels) {
    for (let c = 0; c < 3; c++) data[i + c] = samples[s + c]! >> shift;
  }
  return { data, width, height, format: "RGB8" };
}

/**
 * Decodes one picture for a matcher.
 * @param name what errors call it: the file's path
 * @param colours as in pictureFromSamples
 * @throws DepthwattError as decodeGreyImage
 */
export async function decodeEnginePicture(
  bytes: Uint8Array,
  name: string,
  colours: boolean,
): Promise<EnginePicture> {
  return pictureFromSamples(await decodePicture(bytes, name), colours);
}

/** Reads one picture for a matcher. @throws DepthwattError as decodeGreyImage; SOURCE_UNREADABLE when there is no such file */
export async function readEnginePicture(file: string, colours: boolean): Promise<EnginePicture> {
  return decodeEnginePicture(await readImageBytes(file), file, colours);
}

/** Reads one grey picture. @throws DepthwattError as decodeGreyImage; SOURCE_UNREADABLE when there is no such file */
export async function readGreyImage(file: string): Promise<GreyImage> {
  return decodeGreyImage(await readImageBytes(file), file);
}

/** Reads PNG or JPEG as 8-bit colour; grey files give R = G = B. @throws as readGreyImage */
export async function readRgbImage(file: string): Promise<RgbImage> {
  const bytes = await readImageBytes(file);
  const kind = sniffImage(bytes);
  if ((kind !== "png" && kind !== "jpeg") || (kind === "png" && bytes[24] === 16)) {
    throw unsupported(bytes, file, "PNG or JPEG with 8 bits per channel");
  }
  const { samples, width, height, channels } = await decodeSamples(bytes, kind, file);
  if (channels === 3) return { data: samples as Uint8Array, width, height };
  const data = new Uint8Array(width * height * 3);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) data[3 * i + c] = samples[i * channels + (channels < 3 ? 0 : c)]!;
  }
  return { data, width, height };
}

/** Reads a PFM of one channel, values as stored. @throws DepthwattError IMAGE_UNSUPPORTED, SOURCE_UNREADABLE */
export async function readPfm(file: string): Promise<FloatImage> {
  const bytes = await readImageBytes(file);
  if (sniffImage(bytes) !== "pfm") throw unsupported(bytes, file, "PFM");
  return decodePfm(bytes, file);
}

/**
 * Splits a picture that holds both images next to each other, left image in the left half.
 * @throws DepthwattError IMAGE_SIZE_MISMATCH when the width is odd
 */
export function splitSideBySide(
  image: EnginePicture,
  name: string,
): { left: EnginePicture; right: EnginePicture } {
  if (image.width % 2 !== 0) {
    throw new DepthwattError(
      "IMAGE_SIZE_MISMATCH",
      `${name}: expected an even width for two images side by side, found ${image.width}`,
      { context: { file: name, width: image.width } },
    );
  }
  const width = image.width / 2;
  const { format } = image;
  const half = (x: number) => ({ ...cropColumns(image, x, width, format === "RGB8" ? 3 : 1), format });
  return { left: half(0), right: half(width) };
}

/** Reads one side-by-side picture. @throws as readEnginePicture and splitSideBySide */
export async function readStereoSideBySide(
  file: string,
  colours = false,
): Promise<{ left: EnginePicture; right: EnginePicture }> {
  return splitSideBySide(await readEnginePicture(file, colours), file);
}
