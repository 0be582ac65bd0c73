// SPDX-License-Identifier: Apache-2.0
// The grey values of an image on a sparse grid: their histogram for exposure control, or the values themselves.
import type { RawImage } from "../frame.js";
import { sampleAt, sampleLayout } from "./sample-layout.js";

/** Every so many rows and columns one sample; odd in pixel pairs, so that all four colours of a Bayer cell occur. */
const STEP = 15;

function eachSample(image: RawImage, take: (sample: number) => void): void {
  const layout = sampleLayout(image.format);
  for (let y = 0; y < image.height; y += STEP)
    for (let x = 0; x < image.width; x += STEP) take(sampleAt(image.data, y * image.strideBytes, x, layout));
}

/** @param counts 256 counts, overwritten */
export function sampleHistogram(image: RawImage, counts: Uint32Array): void {
  counts.fill(0);
  eachSample(image, (sample) => counts[sample]!++);
}

/** Returns the grey values of a sparse grid, row by row. */
export function sampleGreys(image: RawImage): Uint8Array {
  const samples = new Uint8Array(Math.ceil(image.width / STEP) * Math.ceil(image.height / STEP));
  let count = 0;
  eachSample(image, (sample) => {
    samples[count++] = sample;
  });
  return samples;
}
