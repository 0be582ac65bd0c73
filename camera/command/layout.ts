// SPDX-License-Identifier: Apache-2.0
// How one frame is in a command's output: the image that the engine reads comes first; chroma planes behind it are passed over
// where no consumer reads colours.
import { FORMAT_TRAITS, isInterleaved, packedSamples } from "v4l2-camera/parts";
import { DepthwattError } from "../../core/index.js";
import type { PixelFormat } from "../frame.js";

export interface FrameLayout {
  /** The whole frame, pixels; both images where it is side by side. */
  width: number;
  height: number;
  format: PixelFormat;
  strideBytes: number;
  /** Bytes that are kept. */
  imageBytes: number;
  /** Bytes behind them that are not. */
  skipBytes: number;
}

/** Frames without any header. I420 is what GStreamer calls so: a plane of grey and two of colour at half the size. */
export type RawFormat = PixelFormat | "I420";
export type StreamFormat = "y4m" | RawFormat;

export const STREAM_FORMATS = [
  "y4m",
  "I420",
  ...FORMAT_TRAITS.map(({ format }) => format).filter(
    (format) => format !== "MJPEG" && !isInterleaved(format),
  ),
] as const as [StreamFormat, ...StreamFormat[]];

/** Larger than any camera: a header that asks for more is no header. */
export const MAX_PIXELS_ACROSS = 32_768;

/** Bytes of two planes of colour with half the columns and rows of the grey one, rounded up. */
export const halfPlanes = (width: number, height: number): number =>
  2 * Math.ceil(width / 2) * Math.ceil(height / 2);

/**
 * Rows touch: what ffmpeg writes, and GStreamer where the width is a multiple of 8.
 * @param colours NV12 keeps its chroma; else it is passed over, as I420's is always
 */
export function rawLayout(name: RawFormat, width: number, height: number, colours = false): FrameLayout {
  // With an odd width a row of chroma is longer than one of luma, and the engine's NV12 has one stride for both.
  if (name === "NV12" && colours && width % 2 === 0) {
    const imageBytes = width * height + halfPlanes(width, height);
    return { width, height, format: "NV12", strideBytes: width, imageBytes, skipBytes: 0 };
  }
  const grey = name === "I420" || name === "NV12";
  const format: PixelFormat = grey ? "GREY" : name;
  const trait = FORMAT_TRAITS.find((one) => one.format === format)!;
  const group = packedSamples(trait.format);
  const strideBytes = Math.ceil(width / group) * group * trait.bytesPerPixel;
  const skipBytes = grey ? halfPlanes(width, height) : 0;
  return { width, height, format, strideBytes, imageBytes: strideBytes * height, skipBytes };
}

/** Width of one image. @throws DepthwattError DEVICE_UNSUITABLE where the two halves of a frame cannot be equal */
export function widthOfOne({ width, format }: FrameLayout, sideBySide: boolean): number {
  if (!sideBySide || format === "GREY_DISPARITY") return width;
  // Half a pair of YUYV pixels, or of a Bayer cell, has other colours than the left one's; packed groups stay whole.
  const step = format.endsWith("10P") ? 8 : /^(YUYV|UYVY|NV12|BAYER|Y12P)/.test(format) ? 4 : 2;
  if (width % step === 0) return width / 2;
  throw new DepthwattError(
    "DEVICE_UNSUITABLE",
    `expected a side by side frame whose width is a multiple of ${step}, got ${width}`,
    { hint: "Let the command scale or crop its frames to such a width." },
  );
}
