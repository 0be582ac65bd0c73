// SPDX-License-Identifier: Apache-2.0
// The three kinds of picture that files hold (grey, colour, float) and the one rule that makes grey from colour.

/** Grey image, row-major, no padding: `data[y * width + x]`. u16 keeps the bits that the file had. */
export interface GreyImage {
  data: Uint8Array | Uint16Array;
  width: number;
  height: number;
}

/** Colour picture, row-major, 3 bytes per pixel (R, G, B), no padding. */
export interface RgbImage {
  data: Uint8Array;
  width: number;
  height: number;
}

/** Float picture, row-major, first row on top. As a disparity map: pixels, +Infinity = no value. */
export interface FloatImage {
  data: Float32Array;
  width: number;
  height: number;
}

/**
 * Grey from interleaved samples: (77 R + 150 G + 29 B + 128) >> 8, BT.601 weights in 1/256 that add up to exactly 1, so
 * that R = G = B = v gives v. Channels after the third (alpha) are dropped; with 1 or 2 channels the first is the grey.
 * @param samples [height][width][channels], u8 or u16
 */
export function greyFromSamples(
  samples: Uint8Array | Uint16Array,
  width: number,
  height: number,
  channels: number,
): GreyImage {
  if (channels === 1) return { data: samples, width, height };
  const pixels = width * height;
  const data = samples instanceof Uint16Array ? new Uint16Array(pixels) : new Uint8Array(pixels);
  for (let i = 0, s = 0; i < pixels; i++, s += channels) {
    data[i] =
      channels === 2
        ? samples[s]!
        : (77 * samples[s]! + 150 * samples[s + 1]! + 29 * samples[s + 2]! + 128) >> 8;
  }
  return { data, width, height };
}

/** Columns [x, x + width) of a picture of so many samples a pixel, as a new picture. */
export function cropColumns(image: GreyImage | RgbImage, x: number, width: number, samples = 1): GreyImage {
  const row = width * samples;
  const size = row * image.height;
  const data = image.data instanceof Uint16Array ? new Uint16Array(size) : new Uint8Array(size);
  for (let y = 0; y < image.height; y++) {
    const start = (y * image.width + x) * samples;
    data.set(image.data.subarray(start, start + row), y * row);
  }
  return { data, width, height: image.height };
}
