// SPDX-License-Identifier: Apache-2.0
// Disparity maps on disk: PFM (float, +inf = no value) and 16-bit PNG x 256 (0 = no value).
import { extname } from "node:path";
import { DepthwattError, writeBeside } from "../../../core/index.js";
import { decodeGreyImage, readImageBytes, sniffImage } from "./decode.js";
import type { FloatImage, GreyImage, RgbImage } from "./image.js";
import { decodePfm, encodePfm, encodePgm } from "./netpbm.js";
import { encodePng } from "./png.js";

/** disparityQ4 of an invalid pixel. */
const INVALID_DISPARITY_Q4 = -32_768;
const PNG_UNITS_PER_PIXEL = 256;

/** Pixels from 1/16 px; -32768 becomes +Infinity. */
export function disparityFromQ4(disparityQ4: Int16Array, width: number, height: number): FloatImage {
  const data = new Float32Array(disparityQ4.length);
  for (let i = 0; i < data.length; i++) {
    data[i] = disparityQ4[i] === INVALID_DISPARITY_Q4 ? Number.POSITIVE_INFINITY : disparityQ4[i]! / 16;
  }
  return { data, width, height };
}

/**
 * 16-bit PNG values: disparity x 256 rounded half up, 0 = no value, a disparity that would round to 0 is written as 1.
 * @throws DepthwattError IMAGE_UNSUPPORTED for a disparity below 0 or of 256 and more (65536 does not fit): use PFM
 */
export function disparityToPng16(disparity: FloatImage, name: string): GreyImage {
  const data = new Uint16Array(disparity.data.length);
  for (let i = 0; i < data.length; i++) {
    const value = disparity.data[i]!;
    if (!Number.isFinite(value)) continue;
    const units = Math.floor(value * PNG_UNITS_PER_PIXEL + 0.5);
    if (value < 0 || units > 65_535) {
      const where = `x ${i % disparity.width}, y ${Math.floor(i / disparity.width)}`;
      throw new DepthwattError(
        "IMAGE_UNSUPPORTED",
        `${name}: expected disparities from 0 to below 256 px for a 16-bit PNG, found ${value} at ${where}`,
        { hint: "Write a .pfm file instead: it holds any disparity.", context: { file: name, value } },
      );
    }
    data[i] = Math.max(1, units);
  }
  return { data, width: disparity.width, height: disparity.height };
}

async function write(file: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeBeside(file, bytes);
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${(cause as Error).message}`, {
      cause,
      context: { file },
    });
  }
}

function refuseExtension(file: string, expected: string): never {
  throw new DepthwattError("USAGE", `expected an output name ending in ${expected}, found "${file}"`, {
    hint: `Give the file one of these endings: ${expected}.`,
    context: { file },
  });
}

/**
 * Refuses a name that writeDisparity() would refuse, before there is anything to write.
 * @param expected the endings, where the caller knows more of them
 * @throws DepthwattError USAGE
 */
export function checkDisparityName(file: string, expected = ".pfm or .png"): void {
  if (![".pfm", ".png"].includes(extname(file).toLowerCase())) refuseExtension(file, expected);
}

/** The same for a colour picture and writeImage(). @throws DepthwattError USAGE */
export function checkColourName(file: string): void {
  if (extname(file).toLowerCase() !== ".png") refuseExtension(file, ".png for a colour picture");
}

/** Writes a disparity map as PFM or 16-bit PNG, by the file's ending. @throws DepthwattError OUTPUT_UNWRITABLE, IMAGE_UNSUPPORTED, USAGE */
export async function writeDisparity(file: string, disparity: FloatImage): Promise<void> {
  checkDisparityName(file);
  if (extname(file).toLowerCase() === ".pfm") return write(file, encodePfm(disparity));
  return write(file, await encodePng(disparityToPng16(disparity, file)));
}

/** Writes a picture: grey (u8, u16) as PNG or PGM, colour as PNG, by the file's ending. @throws as writeDisparity */
export async function writeImage(file: string, image: GreyImage | RgbImage): Promise<void> {
  const ending = extname(file).toLowerCase();
  if (ending === ".png") return write(file, await encodePng(image));
  if (ending === ".pgm" && image.data.length === image.width * image.height)
    return write(file, encodePgm(image));
  return refuseExtension(file, ending === ".pgm" ? ".png for a colour picture" : ".png or .pgm");
}

/**
 * Reads a ground truth or result map: PFM, or any grey picture. disparity = stored value / scale; the stored value
 * `invalid` (for PFM: any non-finite value) becomes +Infinity.
 * @param scale stored units per pixel; default 256 for 16-bit pictures, 1 otherwise
 * @param invalid default "inf" for PFM, 0 otherwise; "+inf" means that every other value that is not finite is damage
 * @throws DepthwattError SOURCE_UNREADABLE, IMAGE_UNSUPPORTED
 */
export async function readDisparity(
  file: string,
  encoding: { scale?: number; invalid?: number | "inf" | "+inf" } = {},
): Promise<FloatImage> {
  const bytes = await readImageBytes(file);
  const stored = sniffImage(bytes) === "pfm" ? decodePfm(bytes, file) : await decodeGreyImage(bytes, file);
  const scale = encoding.scale ?? (stored.data instanceof Uint16Array ? PNG_UNITS_PER_PIXEL : 1);
  const invalid = encoding.invalid ?? (stored.data instanceof Float32Array ? "inf" : 0);
  const data = new Float32Array(stored.data.length);
  for (let i = 0; i < data.length; i++) {
    const value = stored.data[i]!;
    if (invalid === "+inf" && !(value > Number.NEGATIVE_INFINITY)) {
      const [x, y] = [i % stored.width, Math.floor(i / stored.width)];
      throw new DepthwattError(
        "IMAGE_UNSUPPORTED",
        `${file}: expected disparities, or inf for none, found ${value} at (${x}, ${y})`,
        { context: { file } },
      );
    }
    data[i] = !Number.isFinite(value) || value === invalid ? Number.POSITIVE_INFINITY : value / scale;
  }
  return { data, width: stored.width, height: stored.height };
}
