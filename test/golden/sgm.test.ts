// SPDX-License-Identifier: Apache-2.0
// From grey pair to checked disparity, the same hashes on every instruction set of the addon; sgm-neon.test.ts has NEON.
// The cases stand in test/native/golden_main.cc too, which says what each is for by its name.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { emptyAnswer, sgm } from "../doubles/sgm-call.js";
import { native, Random, variants } from "../doubles/stages.js";

const root = new URL("../../", import.meta.url).pathname;
const expected = JSON.parse(readFileSync(join(root, "test/golden/sgm.json"), "utf8")) as Record<
  string,
  string
>;

/** name: width, height, numDisparities, minDisparity, paths, p1, p2, adaptiveP2, uniqueness, threads */
const cases: Record<string, number[]> = {
  "usual-4": [173, 61, 128, 0, 4, 10, 60, 0, 10, 1],
  "usual-8": [173, 61, 128, 0, 8, 10, 60, 0, 10, 2],
  "adaptive-4": [160, 45, 128, 3, 4, 7, 90, 16, 5, 2],
  "adaptive-8": [160, 45, 128, 0, 8, 5, 63, 40, 0, 1],
  "two-bytes": [150, 38, 128, 0, 8, 9, 120, 0, 15, 3],
  "sixteen-bits": [97, 33, 96, 5, 8, 30, 700, 8, 10, 2],
  "two-paths": [131, 29, 64, 0, 2, 10, 60, 0, 10, 1],
  uneven: [211, 27, 75, 1, 8, 11, 50, 0, 20, 2],
  many: [300, 14, 512, 0, 4, 10, 60, 0, 10, 1],
  "narrow-image": [19, 50, 256, 0, 8, 10, 60, 0, 0, 2],
  "ends-of-range": [140, 40, 16, 0, 8, 3, 60, 0, 10, 2],
  "half-4": [173, 61, 128, 0, 4, 12, 40, 4, 8, 2],
  "half-8-odd": [160, 46, 75, 3, 8, 12, 40, 0, 8, 1],
};
const isHalf = (name: string) => name.startsWith("half");
const halved = (side: number) => (side + 1) >> 1;

function randomPair(width: number, height: number, min: number, num: number) {
  const random = new Random(7);
  const right = random.fill(new Uint8Array(width * height), 0, 255);
  const left = new Uint8ClampedArray(width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const d = min + (((x >> 5) * 7 + (y >> 4) * 13) % num);
      const noise = random.whole(0, 15) - 8;
      left[y * width + x] = (x >= d ? (right[y * width + x - d] as number) : 128) + noise;
    }
  }
  return { left: new Uint8Array(left.buffer), right };
}

function hash(images: (Int16Array | Uint8Array)[]): string {
  let h = 2166136261;
  for (const image of images) {
    const bytes = new Uint8Array(image.buffer, image.byteOffset, image.byteLength);
    for (const byte of bytes) h = Math.imul(h ^ byte, 16777619);
  }
  return (h >>> 0).toString(16).padStart(8, "0");
}

type Stage = (call: object) => string;

function run(variant: string, name: string): string {
  const [fullWidth, fullHeight, fullNum, fullMin, paths, p1, p2, adaptiveP2, uniqueness, threads] = cases[
    name
  ] as [number, number, number, number, number, number, number, number, number, number];
  const half = isHalf(name);
  const pair = randomPair(fullWidth, fullHeight, fullMin, fullNum);
  const [width, height] = half ? [halved(fullWidth), halved(fullHeight)] : [fullWidth, fullHeight];
  const minDisparity = half ? halved(fullMin) : fullMin;
  const numDisparities = half ? halved(fullMin + fullNum) - minDisparity : fullNum;
  const full = { variant, width: fullWidth, height: fullHeight };
  const size = { variant, width, height };
  const matched = (image: Uint8Array) => {
    const result = new Uint8Array(width * height);
    if (half) (native.stages.half as unknown as Stage)({ ...full, image, result });
    return half ? result : image;
  };
  const left = matched(pair.left);
  const right = matched(pair.right);
  const census = (image: Uint8Array) => {
    const words = new Uint32Array(width * height);
    const stage = half ? native.stages.gradientCensus : native.stages.census;
    (stage as unknown as Stage)({ ...size, image, census: words });
    return words;
  };
  const parameters = { numDisparities, minDisparity, paths, p1, p2, adaptiveP2, uniqueness, threads };
  const answer = emptyAnswer(width * height);
  sgm(
    variant,
    {
      ...size,
      ...parameters,
      subpixel: true,
      censusLeft: census(left),
      censusRight: census(right),
      greyLeft: left,
    },
    answer,
  );
  (native.stages.leftRight as unknown as Stage)({ ...size, ...answer });
  const smooth = new Int16Array(width * height);
  (native.stages.median as unknown as Stage)({ ...size, disparityQ4: answer.disparityQ4, result: smooth });
  const upscaled = new Int16Array(half ? fullWidth * fullHeight : 0);
  if (half) {
    const call = { ...full, thresholdQ4: 48, grey: pair.left, half: smooth, result: upscaled };
    (native.stages.upscale as unknown as Stage)(call);
  }
  const images = [answer.disparity, answer.rightDisparity, answer.disparityQ4, smooth, upscaled];
  return hash([...images, answer.confidence]);
}

test("every case has its hash and every hash its case", () => {
  expect(Object.keys(cases)).toEqual(Object.keys(expected));
  expect(new Set(Object.values(expected)).size).toBe(Object.keys(expected).length);
});

describe.each(["reference", ...variants])("golden hashes, %s", (variant) => {
  test.each(Object.keys(cases))("%s", (name) => {
    expect(run(variant, name)).toBe(expected[name]);
  });
});
