// SPDX-License-Identifier: Apache-2.0
// The grey histogram of an image from a sparse grid of its samples, for exposure control. Memory is the caller's.
import type { RawImage } from "../frame.js";
import { sampleAt, sampleLayout } from "./sample-layout.js";

/** Every so many rows and columns one sample; odd in pixel pairs, so that all four colours of a Bayer cell occur. */
const STEP = 15;

/** @param counts 256 counts, overwritten */
export function sampleHistogram(image: RawImage, counts: Uint32Array): void {
  const { offset, bytes, shift } = sampleLayout(image.format);
  counts.fill(0);
  for (let y = 0; y < image.height; y += STEP) {
    const row = y * image.strideBytes + offset;
    for (let x = 0; x < image.width; x += STEP) counts[sampleAt(image.data, row + x * bytes, shift)]!++;
  }
}
