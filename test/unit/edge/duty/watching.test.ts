// SPDX-License-Identifier: Apache-2.0
// Tests when an exposure counts as settled and an image as changed, on both sides of each limit.
import { expect, test } from "vitest";
import type { RawImage } from "../../../../camera/index.js";
import { Motion } from "../../../../edge/duty/motion.js";
import { Settling } from "../../../../edge/duty/settling.js";

/** Every 15th column of every 15th row is read: an image of one row with these samples. */
function image(samples: readonly number[]): RawImage {
  const data = new Uint8Array(15 * samples.length);
  for (const [at, sample] of samples.entries()) data[15 * at] = sample;
  const [width, strideBytes] = [data.length, data.length];
  return { data, width, height: 1, strideBytes, format: "GREY", timestampNs: 0n, sequence: 0 };
}
const flat = (level: number) => image(Array(10).fill(level));

test("an exposure has settled when two frames in a row differ by two grey levels at most", () => {
  const settled = (levels: number[]) => {
    const settling = new Settling(1e9);
    return levels.map((level, frame) => settling.add(flat(level), frame));
  };
  expect(settled([100, 102, 104, 102])).toEqual([false, false, true, true]);
  expect(settled([100, 102, 105, 105, 105])).toEqual([false, false, false, false, true]);
});

test("after the time limit, which begins with the first frame, it counts as settled", () => {
  const settling = new Settling(500);
  const added = [1000, 1499, 1500].map((nowMs, frame) => settling.add(flat(50 * frame), nowMs));
  expect(added).toEqual([false, false, true]);
});

test("motion is more than 0.5 % of the samples that differ by more than 16 levels", () => {
  const changed = (count: number, pairs: number, by: number) => {
    const motion = new Motion();
    const grey = Array<number>(count).fill(100);
    motion.changed(image(grey));
    // As many lighter samples as darker ones: the mean stays.
    return motion.changed(image(grey.map((level, at) => (at < 2 * pairs ? level + by * (-1) ** at : level))));
  };
  expect([changed(400, 1, 50), changed(396, 1, 50)]).toEqual([false, true]);
  expect([changed(100, 2, 16), changed(100, 2, 17)]).toEqual([false, true]);
});

test("another exposure is no motion; the first image and one of another size are", () => {
  const motion = new Motion();
  expect(motion.changed(flat(50))).toBe(true);
  expect(motion.changed(flat(150))).toBe(false);
  expect(motion.changed(image([150, 150]))).toBe(true);
  expect(motion.changed(image([150, 200]))).toBe(true);
});
