// SPDX-License-Identifier: Apache-2.0
// The layouts of a camera image that the engine reads; pixel_format.h has the same list.

/**
 * How the bytes of an image are laid out. Y10, Y12, Y16 and BAYER_*10, 12, 16: little-endian 16-bit words, value in the
 * low bits. Y10P and BAYER_*10P: MIPI's packing, the high bytes of four samples, then a byte with their low bits; Y12P
 * and BAYER_*12P the same of two samples. Y8I_LEFT and Y8I_RIGHT: the first or the second of two bytes a pixel.
 * Y12I_LEFT and Y12I_RIGHT: the low or the high 12 bits of three little-endian bytes a pixel. RGB8: three bytes a pixel, red first. NV12: a plane of luma, behind it one of
 * chroma, rows of the same stride. GREY_DISPARITY: a rectified right image of grey, behind it the left image's disparity
 * (little-endian int16, 1/16 px, -32768 for none) and its confidence, rows without gaps. Raw words that a board fills from the top (Tegra) are Y16 and BAYER_*16: see camera/v4l2/src/pixel-formats.ts.
 */
export type PixelFormat =
  | "GREY"
  | "Y10"
  | "Y12"
  | "Y16"
  | "Y8I_LEFT"
  | "Y8I_RIGHT"
  | "Y10P"
  | "Y12P"
  | "Y12I_LEFT"
  | "Y12I_RIGHT"
  | "GREY_DISPARITY"
  | "YUYV"
  | "UYVY"
  | "NV12"
  | "RGB8"
  | `BAYER_${"RGGB" | "GRBG" | "GBRG" | "BGGR"}${"8" | "10" | "12" | "16" | "10P" | "12P"}`;

/** Returns whether the engine can read colours from the format: otherwise red, green and blue are the grey value. */
export function hasColours(format: PixelFormat): boolean {
  return !format.startsWith("GREY") && !/^Y\d/.test(format);
}
