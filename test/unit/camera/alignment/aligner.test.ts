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
