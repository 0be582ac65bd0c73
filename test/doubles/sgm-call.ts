// SPDX-License-Identifier: Apache-2.0
// Calls native.stages.sgm on plain arrays; shared by the tests and benchmarks of sgm and select.
import { expect } from "vitest";
import { native, type Random } from "./stages.js";

export interface SgmCase {
  width: number;
  height: number;
  numDisparities: number;
  minDisparity?: number;
  paths?: number;
  p1?: number;
  p2?: number;
  adaptiveP2?: number;
  uniqueness?: number;
  subpixel?: boolean;
  outsideCost?: number;
  threads?: number;
  censusLeft: Uint32Array;
  censusRight: Uint32Array;
  greyLeft?: Uint8Array;
  censusStrideBytes?: number;
  greyStrideBytes?: number;
  sums?: Uint16Array;
  timesNs?: Float64Array;
}

export interface SgmAnswer {
  disparityQ4: Int16Array;
  disparity: Int16Array;
  rightDisparity: Int16Array;
  confidence: Uint8Array;
}

export const INVALID = -32768;
export const OUTPUTS = ["disparity", "disparityQ4", "rightDisparity", "confidence"] as const;

export function emptyAnswer(pixels: number): SgmAnswer {
  return {
    disparityQ4: new Int16Array(pixels).fill(-1),
    disparity: new Int16Array(pixels).fill(-1),
    rightDisparity: new Int16Array(pixels).fill(-1),
    confidence: new Uint8Array(pixels).fill(1),
  };
}

export function sgm(variant: string, given: SgmCase, answer?: SgmAnswer): SgmAnswer {
  const pixels = given.width * given.height;
  const results = answer ?? emptyAnswer(pixels);
  const stage = native.stages.sgm as unknown as (call: object) => string;
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const ran = stage({ greyLeft: new Uint8Array(pixels), ...defined, ...results, variant });
  expect(ran, "the form that ran").toBe(variant);
  return results;
}

/** A pair of random census images: a right image, and the left one that sees it `shift` pixels further right. */
export function shiftedPair(random: Random, width: number, height: number, shift: number) {
  const censusRight = new Uint32Array(width * height);
  for (let i = 0; i < censusRight.length; ++i) censusRight[i] = random.whole(0, 0x7fffffff);
  const censusLeft = new Uint32Array(width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const seen = x >= shift ? censusRight[y * width + x - shift] : random.whole(0, 0x7fffffff);
      censusLeft[y * width + x] = seen as number;
    }
  }
  return { censusLeft, censusRight };
}
