// SPDX-License-Identifier: Apache-2.0
// The layouts of a camera image that the engine reads; pixel_format.h has the same list.

/**
 * How the bytes of an image are laid out. Y10, Y12, Y16 and BAYER_*10, 12, 16: little-endian 16-bit words, value in the
 * low bits. Y8I_LEFT and Y8I_RIGHT: the first or the second of two
 * bytes a pixel. RGB8: three bytes a pixel, red first. NV12: a plane of luma, behind it one of
 * chroma, rows of the same stride. Raw words that a board fills from the top (Tegra) are Y16 and BAYER_*16: see camera/v4l2/src/pixel-formats.ts.
 */
export type PixelFormat =
  | "GREY"
  | "Y10"
  | "Y12"
  | "Y16"
  | "Y8I_LEFT"
  | "Y8I_RIGHT"
  | "YUYV"
  | "UYVY"
  | "NV12"
  | "RGB8"
  | "BAYER_RGGB8"
  | "BAYER_GRBG8"
  | "BAYER_GBRG8"
  | "BAYER_BGGR8"
  | "BAYER_RGGB10"
  | "BAYER_GRBG10"
  | "BAYER_GBRG10"
  | "BAYER_BGGR10"
  | "BAYER_RGGB12"
  | "BAYER_GRBG12"
  | "BAYER_GBRG12"
  | "BAYER_BGGR12"
  | "BAYER_RGGB16"
  | "BAYER_GRBG16"
  | "BAYER_GBRG16"
  | "BAYER_BGGR16";

/** Returns whether the engine can read colours from the format: otherwise red, green and blue are the grey value. */
export function hasColours(format: PixelFormat): boolean {
  return !["GREY", "Y10", "Y12", "Y16", "Y8I_LEFT", "Y8I_RIGHT"].includes(format);
}
