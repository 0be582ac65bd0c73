// SPDX-License-Identifier: Apache-2.0
// One look at a pair: contrast and corners of each image, and the shift between them from features.
import { expect, test } from "vitest";
import { greyPairLayout } from "../../../../camera/index.js";
import { PairAligner } from "../../../../camera/rig/alignment/index.js";
import { createTexture } from "../../../doubles/texture.js";

const [width, height, disparity] = [320, 240, 12];
const texture = createTexture(width + disparity, height);

/** @param gain of the grey values about 128 */
const image = (shift: number, gain: number) =>
  Uint8Array.from({ length: width * height }, (_, i) =>
    Math.round(128 + gain * (texture((i % width) + shift, Math.floor(i / width)) - 128)),
  );

/** Standard deviation of every fourth pixel of every fourth row. */
function contrast(pixels: Uint8Array): number {
  const values = [...pixels].filter((_, i) => (i % width) % 4 === 0 && Math.floor(i / width) % 4 === 0);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

test("a look reports contrast and corners of both images and the disparity between them", () => {
  const aligner = new PairAligner({
    ...greyPairLayout(width, height),
    inputWidth: width,
    inputHeight: height,
    focalPixels: 300,
    cx: width / 2,
    cy: height / 2,
    maxWidth: 0,
    rows: 4,
    minDisparity: 0,
    maxDisparity: 32,
  });
  // The left image sees a point further to the right. Its contrast is half the other's.
  const [left, right] = [image(0, 0.5), image(disparity, 1)];
  const look = aligner.look(left, right);
  aligner.close();
  expect(look.leftContrast).toBeCloseTo(contrast(left), 6);
  expect(look.rightContrast).toBeCloseTo(contrast(right), 6);
  expect(look.rightContrast / look.leftContrast).toBeCloseTo(2, 1);
  expect(look.leftCorners).toBeGreaterThan(20);
  expect(look.rightCorners).toBeGreaterThan(20);
  expect(look.kept).toBeGreaterThan(8);
  expect(Math.abs(look.medianDisparity - disparity)).toBeLessThan(0.25);
  expect(Math.abs(look.meanRows)).toBeLessThan(0.1);
});

/** A map of 1/32 px that turns and shifts an image a little. */
const turnedMap = (sine: number, shift: number) =>
  Int32Array.from({ length: 2 * width * height }, (_, i) => {
    const [x, y] = [(i >> 1) % width, Math.floor((i >> 1) / width)];
    const at = i % 2 === 0 ? x - sine * (y - height / 2) : y + sine * (x - width / 2) + shift;
    return Math.round(32 * Math.min(Math.max(at, 0), (i % 2 === 0 ? width : height) - 1));
  });
const options = {
  ...greyPairLayout(width, height),
  inputWidth: width,
  inputHeight: height,
  focalPixels: 300,
  cx: width / 2 - 5,
  cy: height / 2 + 3,
  maxWidth: 0,
  rows: 4,
  minDisparity: 0,
  maxDisparity: 32,
};
const maps = { leftMap: turnedMap(0, 0), rightMap: turnedMap(0.006, 1.25) };

// Measured when the shift, the rotation and the rows above came out right.
test.each([
  [
    "as it is",
    {},
    "192 708 148 148 0.22265625 0.25 49.9845548 55.6319757 11.9989624 11.9922028 -0.00036932906 0.00188586161 147.857261 3.16062549e-8 323.721360 0.000440379188",
  ],
  [
    "turned",
    maps,
    "192 707 135 135 0.22265625 0.2578125 49.9845548 50.3501704 11.9378967 11.3273315 -1.22647253 2.04663807 126.164454 0.00000562906302 270.257848 0.297238929",
  ],
  [
    "at half the size",
    { ...maps, maxWidth: 160 },
    "48 165 34 34 0.484375 0.46484375 59.1038090 43.3763368 12.0520935 11.3772316 -1.31121145 1.97708310 32.4444311 0.00000126974746 66.6987476 0.0827635017",
  ],
  [
    "at a third, without maps",
    { maxWidth: 120 },
    "20 63 17 17 0.6953125 0.7109375 44.2141355 48.6049370 11.9999371 11.9937172 0.00236831224 0.00875353734 16.9970811 5.83509011e-9 32.9615853 -0.000104838991",
  ],
  [
    "in a narrow search",
    { ...maps, rows: 1, minDisparity: 11, maxDisparity: 12 },
    "192 707 107 107 0.22265625 0.2578125 49.9845548 50.3501704 11.9286804 11.2918549 -1.05089406 1.78653462 99.5771543 0.00000554536062 218.612527 0.279119915",
  ],
])("the numbers of a look are reproduced: %s", (_, changes, expected) => {
  const aligner = new PairAligner({ ...options, ...changes });
  const { cpuMs, products, targets, ...look } = aligner.look(image(0, 0.9), image(disparity, 1));
  aligner.close();
  const sum = (values: readonly number[]) => values.reduce((total, value, at) => total + value * (1 + at), 0);
  const figures = [...Object.values(look), sum(products), sum(targets)];
  for (const [at, text] of expected.split(" ").entries())
    expect(Math.abs(figures[at]! - Number(text)), `figure ${at}`).toBeLessThan(1e-4 * Math.abs(Number(text)));
});
