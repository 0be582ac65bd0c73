// SPDX-License-Identifier: Apache-2.0
// The layouts of an image in memory.

/**
 * How the bytes of an image are laid out. Y10, Y12, Y16 and BAYER_*10, 12, 16: little-endian 16-bit words, value in the
 * low bits. Y10P, Y12P, BAYER_*10P and 12P: MIPI's packing, the high bytes of four (10P) or two samples, then a byte with
 * their low bits. Y12I: three little-endian bytes a pixel, 12 bits of each image. Y8I: two bytes a pixel, the left image's and the right image's. RGB8: three bytes a pixel, red first. NV12: a plane of luma, behind it one of chroma, rows of the same stride.
 */
export type PixelFormat =
  | "GREY"
  | "Y10"
  | "Y12"
  | "Y16"
  | "Y8I"
  | "Y10P"
  | "Y12P"
  | "Y12I"
  | "YUYV"
  | "UYVY"
  | "NV12"
  | "RGB8"
  | `BAYER_${"RGGB" | "GRBG" | "GBRG" | "BGGR"}${8 | 10 | 12 | 16 | "10P" | "12P"}`;
