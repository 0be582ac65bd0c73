// SPDX-License-Identifier: Apache-2.0
// Finds defective pixels: those that differ from all their neighbours in every image.
import { DepthwattError } from "../../core/index.js";
import type { RawImage } from "../frame.js";
import { MAX_DEFECTS, neighbourDistance, type Position } from "./defects.js";
import { sampleAt, sampleLayout } from "./sample-layout.js";

/** Smallest difference from the neighbours, grey levels, that is a defect if every image has it. */
const LEAST_DIFFERENCE = 24;

/**
 * Keeps, for each pixel, how far it was above and below its neighbours in every image so far. The second brightest and second
 * darkest neighbours count, so two defects next to each other are found.
 */
export class DefectFinder {
  #above: Uint8Array | undefined;
  #below: Uint8Array | undefined;
  #width = 0;

  add(image: RawImage): void {
    const { width, height, data, strideBytes, format } = image;
    const layout = sampleLayout(format);
    const step = neighbourDistance(format);
    const grey = new Uint8Array(width * height);
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) grey[y * width + x] = sampleAt(data, y * strideBytes, x, layout);
    this.#width = width;
    this.#above ??= new Uint8Array(width * height).fill(255);
    this.#below ??= new Uint8Array(width * height).fill(255);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const at = y * width + x;
        if (this.#above[at] === 0 && this.#below[at] === 0) continue;
        const { brightest, darkest } = secondExtremes(grey, x, y, { width, height }, step);
        this.#above[at] = Math.min(this.#above[at]!, Math.max(0, grey[at]! - brightest));
        this.#below[at] = Math.min(this.#below[at]!, Math.max(0, darkest - grey[at]!));
      }
    }
  }

  /** @throws DepthwattError DEVICE_UNSUITABLE if more pixels stand out than a working sensor has defects */
  result(): Position[] {
    const found: Position[] = [];
    for (const [at, above] of (this.#above ?? []).entries()) {
      if (Math.max(above, this.#below![at]!) < LEAST_DIFFERENCE) continue;
      found.push([at % this.#width, Math.floor(at / this.#width)]);
      if (found.length <= MAX_DEFECTS) continue;
      throw new DepthwattError(
        "DEVICE_UNSUITABLE",
        `Expected at most ${MAX_DEFECTS} pixels that differ from their neighbours in every image, found more.`,
        { hint: "Cover the lens, or show a plain bright surface, so that the image has no texture." },
      );
    }
    return found;
  }
}

/** Returns the second brightest and second darkest of the neighbours inside the image. */
function secondExtremes(
  grey: Uint8Array,
  x: number,
  y: number,
  { width, height }: { width: number; height: number },
  step: number,
): { brightest: number; darkest: number } {
  let [first, brightest, last, darkest] = [-1, -1, 256, 256];
  for (let dy = -step; dy <= step; dy += step) {
    for (let dx = -step; dx <= step; dx += step) {
      const [column, row] = [x + dx, y + dy];
      if ((dx === 0 && dy === 0) || column < 0 || row < 0 || column >= width || row >= height) continue;
      const value = grey[row * width + column]!;
      if (value > first) [brightest, first] = [first, value];
      else if (value > brightest) brightest = value;
      if (value < last) [darkest, last] = [last, value];
      else if (value < darkest) darkest = value;
    }
  }
  return { brightest, darkest };
}
