// SPDX-License-Identifier: Apache-2.0
// A captured image as a picture in colours for files: what the engine makes of it, without rectification. For stills, not for the
// stream.
import type { PixelFormat, RawImage } from "../frame.js";
import type { RgbImage } from "./images/index.js";

type Triple = readonly [red: number, green: number, blue: number];

/** RGB8 of an image whose format has colours (hasColours): cuda/rectify/README.md has the conversion of each. */
export function toRgb(image: RawImage): RgbImage {
  const { width, height, format } = image;
  const colourAt = READERS[/^BAYER/.test(format) ? "BAYER" : (format as keyof typeof READERS)];
  const data = new Uint8Array(3 * width * height);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 3) data.set(colourAt(image, x, y), at);
  }
  return { data, width, height };
}

const byte = (value: number) => Math.min(Math.max(value, 0), 255);

/** BT.601, luma and chroma of full range. */
function fromLuma(luma: number, u: number, v: number): Triple {
  const [du, dv] = [u - 128, v - 128];
  const green = luma - ((88 * du + 183 * dv + 128) >> 8);
  return [byte(luma + ((359 * dv + 128) >> 8)), byte(green), byte(luma + ((454 * du + 128) >> 8))];
}

function packed({ data, width, strideBytes, format }: RawImage, x: number, y: number): Triple {
  const row = y * strideBytes;
  const lumaAt = format === "UYVY" ? 1 : 0;
  const luma = data[row + 2 * x + lumaAt]!;
  const whole = width >> 1;
  if (whole === 0) return [luma, luma, luma];
  const pair = row + 4 * Math.min(x >> 1, whole - 1) + 1 - lumaAt;
  return fromLuma(luma, data[pair]!, data[pair + 2]!);
}

function mosaic({ data, width, height, strideBytes, format }: RawImage, x: number, y: number): Triple {
  const depth = bitDepth(format);
  // A mirror keeps the parity of rows and columns, and with it the colour.
  const mirror = (i: number, size: number) =>
    size === 1 ? 0 : i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
  const sample = (column: number, line: number): number => {
    const at = mirror(line, height) * strideBytes + mirror(column, width) * (depth > 8 ? 2 : 1);
    return depth === 8 ? data[at]! : ((data[at]! | (data[at + 1]! << 8)) >> (depth - 8)) & 255;
  };
  const order = ["RGGB", "GRBG", "GBRG", "BGGR"].indexOf(format.slice(6, 10));
  const redColumn = ((x + (order & 1)) & 1) === 0;
  const redRow = ((y + (order >> 1)) & 1) === 0;
  const own = sample(x, y);
  const horizontal = sample(x - 1, y) + sample(x + 1, y);
  const above = sample(x, y - 1) + sample(x, y + 1);
  if (redColumn !== redRow) {
    const [inRow, inColumn] = [(horizontal + 1) >> 1, (above + 1) >> 1];
    return redRow ? [inRow, own, inColumn] : [inColumn, own, inRow];
  }
  const corners = sample(x - 1, y - 1) + sample(x + 1, y - 1) + sample(x - 1, y + 1) + sample(x + 1, y + 1);
  const [green, other] = [(horizontal + above + 2) >> 2, (corners + 2) >> 2];
  return redRow ? [own, green, other] : [other, green, own];
}

/** Bits of a mosaic's sample. */
const bitDepth = (format: PixelFormat): number => Number(/\d+$/.exec(format)![0]);

const READERS = {
  RGB8({ data, strideBytes }: RawImage, x: number, y: number): Triple {
    const at = y * strideBytes + 3 * x;
    return [data[at]!, data[at + 1]!, data[at + 2]!];
  },
  NV12({ data, height, strideBytes }: RawImage, x: number, y: number): Triple {
    const uv = (height + (y >> 1)) * strideBytes + 2 * (x >> 1);
    return fromLuma(data[y * strideBytes + x]!, data[uv]!, data[uv + 1]!);
  },
  YUYV: packed,
  UYVY: packed,
  BAYER: mosaic,
};
