// SPDX-License-Identifier: Apache-2.0
// A captured image as a grey picture for files: its own copy, in full depth, rows touching. For stills, not for the stream.
import type { PixelFormat, RawImage } from "../frame.js";
import type { GreyImage } from "./images/index.js";

/**
 * Grey of an image, u8 where the camera gives 8 bits, else u16 with the samples moved to the top bits, so that a recording
 * is as bright as the camera was. Bayer mosaics become (R + 2 G + B) / 4 by the 3x3 binomial filter, mirrored at the border.
 */
export function toGrey(image: RawImage): GreyImage {
  const { width, height, format } = image;
  if (format === "RGB8") return { data: copyLuma(image), width, height };
  const data = copySamples(image.data, image, allocateSamples(image));
  return /^BAYER/.test(format) ? mosaicGrey(data, width, height) : { data, width, height };
}

/** BT.601 luma, as the engine's grey. */
function copyLuma({ data, width, height, strideBytes }: RawImage): Uint8Array {
  const grey = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = y * strideBytes + 3 * x;
      grey[y * width + x] = (77 * data[at]! + 150 * data[at + 1]! + 29 * data[at + 2]! + 128) >> 8;
    }
  }
  return grey;
}

/** Bits of a sample. */
const bitDepth = (format: PixelFormat): number =>
  format === "NV12" ? 8 : Number(/(10|12|16)(P|I_LEFT|I_RIGHT)?$/.exec(format)?.[1] ?? 8);

export type Samples = Uint8Array | Uint16Array;

type ImageLayout = Pick<RawImage, "width" | "height" | "strideBytes" | "format">;

/** Memory for an image's samples: 8 bits where the camera gives 8, else 16. */
export function allocateSamples({ width, height, format }: ImageLayout): Samples {
  return bitDepth(format) === 8 ? new Uint8Array(width * height) : new Uint16Array(width * height);
}

/** Copies each pixel's sample, without padding; those of more than 8 bits are moved to the top of 16. */
export function copySamples(data: Uint8Array, layout: ImageLayout, samples: Samples): Samples {
  const { width, height, strideBytes, format } = layout;
  const depth = bitDepth(format);
  if (format.endsWith("P")) return copyPacked(data, layout, samples, depth);
  const step = format.startsWith("Y12I") ? 3 : depth > 8 || /^(YUYV|UYVY|Y8I_)/.test(format) ? 2 : 1;
  const offset = /^(UYVY|Y8I_RIGHT|Y12I_RIGHT)$/.test(format) ? 1 : 0;
  // The right image of Y12I is in the upper 12 bits of its word, so its low bits are cleared.
  const [shift, mask] = format === "Y12I_RIGHT" ? [0, 0xfff0] : [16 - depth, 0xffff];
  for (let y = 0; y < height; y++) {
    let at = y * strideBytes + offset;
    for (let x = 0; x < width; x++, at += step) {
      samples[y * width + x] = depth === 8 ? data[at]! : ((data[at]! | (data[at + 1]! << 8)) << shift) & mask;
    }
  }
  return samples;
}

/** MIPI's packing: the high bytes of a group of samples, then a byte with their low bits, the first sample's lowest. */
function copyPacked(
  data: Uint8Array,
  { width, height, strideBytes }: ImageLayout,
  samples: Samples,
  depth: number,
): Samples {
  const lowBits = depth - 8;
  const group = 8 / lowBits;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const inGroup = x % group;
      const first = y * strideBytes + (x - inGroup) + (x - inGroup) / group;
      const low = (data[first + group]! >> (lowBits * inGroup)) & ((1 << lowBits) - 1);
      samples[y * width + x] = (data[first + inGroup]! << 8) | (low << (8 - lowBits));
    }
  }
  return samples;
}

/** Every 3x3 window of a mosaic holds R, G and B in the same proportion of binomial weights: 4, 8 and 4 of 16. */
function mosaicGrey(samples: Samples, width: number, height: number): GreyImage {
  const data =
    samples instanceof Uint16Array ? new Uint16Array(samples.length) : new Uint8Array(samples.length);
  // A mirror keeps the parity of rows and columns, and with it the colour; repeating the border would not.
  const mirror = (at: number, size: number) => (at < 0 ? 1 : at === size ? size - 2 : at);
  for (let y = 0; y < height; y++) {
    const rows = [mirror(y - 1, height) * width, y * width, mirror(y + 1, height) * width] as const;
    for (let x = 0; x < width; x++) {
      const left = mirror(x - 1, width);
      const right = mirror(x + 1, width);
      const across = (row: number) => samples[row + left]! + 2 * samples[row + x]! + samples[row + right]!;
      data[y * width + x] = (across(rows[0]) + 2 * across(rows[1]) + across(rows[2]) + 8) >> 4;
    }
  }
  return { data, width, height };
}
