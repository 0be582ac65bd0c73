// SPDX-License-Identifier: Apache-2.0
// The layouts of an image in memory.

/**
 * How the bytes of an image are laid out. Y10, Y12, Y16 and BAYER_*10, 12, 16: little-endian 16-bit words, value in the
 * low bits. Y8I: two bytes a pixel, the left image's and the right image's. RGB8: three bytes a pixel, red first. NV12: a plane of luma, behind it one of chroma, rows of the same stride.
 */
export type PixelFormat =
  | "GREY"
  | "Y10"
  | "Y12"
  | "Y16"
  | "Y8I"
  | "YUYV"
  | "UYVY"
  | "NV12"
  | "RGB8"
  | `BAYER_${"RGGB" | "GRBG" | "GBRG" | "BGGR"}${8 | 10 | 12 | 16}`;
