// SPDX-License-Identifier: Apache-2.0
// Calls of the stages sad and pyramid, and images as the stage hsv gives them.
import { expect } from "vitest";
import type { Random } from "./stages.js";

export const INVALID = -32768;
export const MAPS = ["disparityQ4", "disparity", "rightDisparity", "confidence"] as const;

export interface HsvPair {
  width: number;
  height: number;
  left: Uint8Array;
  right: Uint8Array;
}

type Call = HsvPair & {
  minDisparity?: number;
  numDisparities?: number;
  threads?: number;
  [key: string]: unknown;
};

export function windowStage(stage: (call: object) => string, defaults: object) {
  return (variant: string, call: Call) => {
    const pixels = call.width * call.height;
    const images = () => new Int16Array(pixels).fill(77);
    const maps = { disparityQ4: images(), disparity: images(), rightDisparity: images() };
    const confidence = new Uint8Array(pixels).fill(77);
    const search = { minDisparity: 0, numDisparities: 16 };
    const ran = stage({ variant, ...defaults, ...search, ...call, ...maps, confidence });
    expect(ran, "the form that was asked for is the form that ran").toBe(variant);
    return { ...maps, confidence };
  };
}

/** Pixels that differ in value alone, each half of it the number given. */
export function valuesOnly(width: number, height: number, left: number[], right: number[]): HsvPair {
  const image = (values: number[]) => {
    const bytes = new Uint8Array(8 * width * height);
    for (const [i, value] of values.entries()) bytes.fill(value, 8 * i + 4, 8 * i + 6);
    return bytes;
  };
  return { width, height, left: image(left), right: image(right) };
}

/** Noise; the right image is the left one `shift` columns further on. Both halves of value are alike, as hsv gives them at 50 %. */
export function noisyPair(random: Random, width: number, height: number, shift: number): HsvPair {
  const noise = () => {
    const bytes = random.fill(new Uint8Array(8 * width * height), 0, 120);
    for (let i = 0; i < bytes.length; i += 8) {
      bytes[i + 5] = bytes[i + 4]!;
      bytes.fill(0, i + 6, i + 8);
    }
    return bytes;
  };
  const [left, right] = [noise(), noise()];
  for (let y = 0; y < height; ++y) {
    const row = 8 * y * width;
    right.set(left.subarray(row + 8 * shift, row + 8 * width), row);
  }
  return { width, height, left, right };
}
