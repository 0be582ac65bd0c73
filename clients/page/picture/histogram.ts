// SPDX-License-Identifier: Apache-2.0
// How values are spread over a picture, on the scale of the range handles, and the range that shows most of them.
import type { Counts } from "depthwatt-consumer/frames";
import { type Meaning, meant, type Range } from "./colourise.js";

export const BINS = 96;

/** A handle's scale: metres by their logarithm, because a camera sees near things finely and far ones coarsely. */
export interface Scale extends Range {
  logarithmic: boolean;
}

/** 0 to 1 along the scale. */
export function scalePosition({ min, max, logarithmic }: Scale, value: number): number {
  const share = logarithmic ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min);
  return Math.min(1, Math.max(0, share));
}

export function valueAt({ min, max, logarithmic }: Scale, place: number): number {
  return logarithmic ? min * (max / min) ** place : min + (max - min) * place;
}

export interface Histogram {
  bins: Uint32Array;
  values: number;
  invalid: number;
}

/** Every `step`-th pixel counts. */
export function buildHistogram(counts: Counts, meaning: Meaning, scale: Scale, step = 1): Histogram {
  const bins = new Uint32Array(BINS);
  let values = 0;
  let invalid = 0;
  for (let i = 0; i < counts.length; i += step) {
    const value = meant(meaning, counts[i]!);
    if (Number.isNaN(value)) {
      invalid++;
      continue;
    }
    values++;
    bins[Math.min(BINS - 1, Math.floor(scalePosition(scale, value) * BINS))]!++;
  }
  return { bins, values, invalid };
}

/** From the 2nd to the 98th percentile, a bin wider at both ends. */
export function autoRange({ bins, values }: Histogram, scale: Scale): Range | undefined {
  if (values === 0) return undefined;
  let first = 0;
  let last = BINS - 1;
  for (let seen = bins[first]!; seen < 0.02 * values; seen += bins[first]!) first++;
  for (let seen = bins[last]!; seen < 0.02 * values; seen += bins[last]!) last--;
  return {
    min: valueAt(scale, Math.max(0, first - 1) / BINS),
    max: valueAt(scale, Math.min(BINS, last + 2) / BINS),
  };
}

/** A step towards the new range: an auto range that jumps makes colours flicker. */
export function eased(before: Range | undefined, { min, max }: Range, share = 0.3): Range {
  if (before === undefined) return { min, max };
  const step = (from: number, to: number) => from + (to - from) * share;
  return { min: step(before.min, min), max: step(before.max, max) };
}
