// SPDX-License-Identifier: Apache-2.0
// Lists the formats that cameras deliver: V4L2's four letters, the name here, and the sample's place in a word.
import type { PixelFormat } from "./pixel-format.js";

/** A format to request: a pixel format, or Motion JPEG, which is decoded to GREY, or to RGB8 if colours are read. */
export type CaptureFormat = PixelFormat | "MJPEG";

export interface FormatTrait {
  format: CaptureFormat;
  /** V4L2's name of the format. */
  fourcc: string;
  /** Bytes of a pixel in the first plane, the mean of a packed group's; 0 for compressed images. */
  bytesPerPixel: number;
  /**
   * Place in the order in which "auto" chooses, lowest first: grey before colour, few bytes before many, and Motion
   * JPEG last, because each image costs a decode and an uncompressed one costs nothing. Where colours are read, formats
   * without them come behind all others.
   */
  preference: number;
  /** Sample bits of raw sensors' 16-bit words, which some boards fill from the top. */
  rawBits?: 10 | 12;
}

const bayer = (order: "RGGB" | "GRBG" | "GBRG" | "BGGR", letters: string): FormatTrait[] => [
  { format: `BAYER_${order}8`, fourcc: bayer8Fourcc[order], bytesPerPixel: 1, preference: 4 },
  { format: `BAYER_${order}10`, fourcc: `${letters}10`, bytesPerPixel: 2, preference: 10, rawBits: 10 },
  { format: `BAYER_${order}12`, fourcc: `${letters}12`, bytesPerPixel: 2, preference: 11, rawBits: 12 },
  { format: `BAYER_${order}16`, fourcc: bayer16Fourcc[order], bytesPerPixel: 2, preference: 12 },
  { format: `BAYER_${order}10P`, fourcc: `p${packedLetter[order]}AA`, bytesPerPixel: 1.25, preference: 13 },
  { format: `BAYER_${order}12P`, fourcc: `p${packedLetter[order]}CC`, bytesPerPixel: 1.5, preference: 14 },
];
const bayer8Fourcc = { RGGB: "RGGB", GRBG: "GRBG", GBRG: "GBRG", BGGR: "BA81" };
const packedLetter = { RGGB: "R", GRBG: "g", GBRG: "G", BGGR: "B" };
const bayer16Fourcc = { RGGB: "RG16", GRBG: "GR16", GBRG: "GB16", BGGR: "BYR2" };

export const FORMAT_TRAITS: readonly FormatTrait[] = [
  { format: "GREY", fourcc: "GREY", bytesPerPixel: 1, preference: 0 },
  { format: "NV12", fourcc: "NV12", bytesPerPixel: 1, preference: 1 },
  { format: "YUYV", fourcc: "YUYV", bytesPerPixel: 2, preference: 2 },
  { format: "UYVY", fourcc: "UYVY", bytesPerPixel: 2, preference: 3 },
  { format: "Y10", fourcc: "Y10 ", bytesPerPixel: 2, preference: 5, rawBits: 10 },
  { format: "Y12", fourcc: "Y12 ", bytesPerPixel: 2, preference: 6, rawBits: 12 },
  { format: "Y16", fourcc: "Y16 ", bytesPerPixel: 2, preference: 7 },
  { format: "Y10P", fourcc: "Y10P", bytesPerPixel: 1.25, preference: 8 },
  { format: "Y12P", fourcc: "Y12P", bytesPerPixel: 1.5, preference: 9 },
  ...bayer("RGGB", "RG"),
  ...bayer("GRBG", "BA"),
  ...bayer("GBRG", "GB"),
  ...bayer("BGGR", "BG"),
  { format: "RGB8", fourcc: "RGB3", bytesPerPixel: 3, preference: 15 },
  { format: "Y8I", fourcc: "Y8I ", bytesPerPixel: 2, preference: 16 },
  { format: "Y12I", fourcc: "Y12I", bytesPerPixel: 3, preference: 17 },
  { format: "MJPEG", fourcc: "MJPG", bytesPerPixel: 0, preference: 18 },
];

/** Every name that a camera can be asked for, in the table's order. */
export const CAPTURE_FORMATS = FORMAT_TRAITS.map((trait) => trait.format) as [
  CaptureFormat,
  ...CaptureFormat[],
];

export const formatTrait = (format: CaptureFormat): FormatTrait =>
  FORMAT_TRAITS.find((trait) => trait.format === format)!;

/** Returns whether every pixel of the format has a sample of each image of a stereo camera. */
export const isInterleaved = (format: CaptureFormat): format is "Y8I" | "Y12I" =>
  format === "Y8I" || format === "Y12I";

/** Samples that share a byte of low bits; 1 if the format is not packed. */
export const packedSamples = (format: CaptureFormat): 1 | 2 | 4 =>
  format.endsWith("10P") ? 4 : format.endsWith("12P") ? 2 : 1;

/** Returns the name of V4L2's four letters; undefined for a format that is not supported. */
export const captureFormatFrom = (fourcc: string): CaptureFormat | undefined =>
  FORMAT_TRAITS.find((trait) => trait.fourcc === fourcc)?.format;

/** Where a driver puts a 10- or 12-bit sample in its 16-bit word: V4L2's rule is the low bits. */
export type RawAlignment = "low" | "high";

/**
 * NVIDIA's capture unit on Xavier and later ("tegra-video" on the T194 and newer) fills raw words from the top and
 * repeats the upper bits below, which makes them 16-bit samples even if the four letters name another depth.
 */
export function delivered(format: CaptureFormat, alignment: RawAlignment, colours = false): PixelFormat {
  if (format === "MJPEG") return colours ? "RGB8" : "GREY";
  if (alignment === "low" || formatTrait(format).rawBits === undefined) return format;
  return format.replace(/1[02]$/, "16") as PixelFormat;
}
