// SPDX-License-Identifier: Apache-2.0
// Colours depth in another camera's image as the preview colours disparity: one colour for each distance in both.
import { colourDisparity, type Rectification } from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";

export interface ColourScale {
  /** Disparities shown as the first and the last colour, pixels. */
  range: { min: number; max: number };
  /** The pair's geometry; undefined without a calibration. */
  rectification: Rectification | undefined;
}

/** Colours of the millimetres from 0 to 65535: red, green, blue. */
function colourTable({ range, rectification }: ColourScale): Uint8Array {
  if (rectification === undefined)
    throw new DepthwattError("INTERNAL", "expected a calibration for depth in another camera's image");
  const { focalPixels, baselineMetres, disparityOffsetPixels } = rectification;
  const data = Float32Array.from({ length: 65_536 }, (_, millimetres) =>
    millimetres === 0
      ? Number.POSITIVE_INFINITY
      : (1000 * focalPixels * baselineMetres) / millimetres - disparityOffsetPixels,
  );
  return colourDisparity({ data, width: data.length, height: 1 }, range).data;
}

/** Returns a function that writes the colours of depth, in millimetres, into memory that the next call uses again. */
export function depthColours(scale: () => ColourScale): (millimetres: Uint16Array) => Uint8Array {
  let pixels = new Uint8Array(0);
  let shown: ColourScale | undefined;
  let table: Uint8Array = pixels;
  return (millimetres) => {
    const { range, rectification } = scale();
    if (
      shown?.range.min !== range.min ||
      shown.range.max !== range.max ||
      shown.rectification !== rectification
    ) {
      table = colourTable({ range, rectification });
      shown = { range: { ...range }, rectification };
    }
    if (pixels.length !== 3 * millimetres.length) pixels = new Uint8Array(3 * millimetres.length);
    for (let i = 0, to = 0; i < millimetres.length; i++, to += 3) {
      const at = 3 * millimetres[i]!;
      pixels[to] = table[at]!;
      pixels[to + 1] = table[at + 1]!;
      pixels[to + 2] = table[at + 2]!;
    }
    return pixels;
  };
}
