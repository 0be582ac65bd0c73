// SPDX-License-Identifier: Apache-2.0
// The alignment of a detection's pixels: known shifts of a smooth texture, gain, offset, noise, blank and unlike images.
import fc from "fast-check";
import { expect, test } from "vitest";
import { alignDisparity } from "../../../edge/outputs/detections/align.js";
import { Random } from "../../doubles/random.js";

const [WIDTH, HEIGHT] = [96, 24];
/** Pixels whose match lies inside for disparities up to 30. */
const PIXELS = Uint32Array.from(
  { length: 48 * HEIGHT },
  (_, i) => Math.floor(i / 48) * WIDTH + 36 + (i % 48),
);

/** A texture of sines with periods of 5 pixels and more, exact between pixels. */
function pair(disparity: number, { gain = 1, offset = 0, noise = (): number => 0, contrast = 30 } = {}) {
  const texture = (x: number, y: number) =>
    contrast *
    (Math.sin(0.9 * x + 0.3 * y) + 0.7 * Math.sin(0.37 * x - 0.5 * y) + 0.5 * Math.sin(1.25 * x + y));
  const image = (shift: number, times: number, plus: number) =>
    Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) =>
      Math.round(120 + plus + times * texture((i % WIDTH) + shift, Math.floor(i / WIDTH)) + noise()),
    );
  return { width: WIDTH, left: image(0, 1, 0), right: image(disparity, gain, offset) };
}

test("the shift of a texture is found within 0.02 px, at any gain and offset", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 4, max: 28, noNaN: true }),
      fc.double({ min: -0.4, max: 0.4, noNaN: true }),
      fc.double({ min: 0.8, max: 1.2, noNaN: true }),
      fc.integer({ min: -20, max: 20 }),
      (disparity, away, gain, offset) => {
        const found = alignDisparity(
          pair(disparity, { gain, offset }),
          PIXELS,
          PIXELS.length,
          disparity + away,
        );
        expect(Math.abs(found!.disparityPixels - disparity)).toBeLessThan(0.02);
        expect(found!.standardErrorPixels).toBeLessThan(0.01);
      },
    ),
    { numRuns: 60 },
  );
});

test("noise spreads the shift by as much as the standard error says", () => {
  const generator = new Random(5);
  const random = () => generator.whole(0, 10_000) / 10_000;
  // A sum of four even numbers: a standard deviation of 4 grey levels.
  const noise = () => 4 * Math.sqrt(3) * (random() + random() + random() + random() - 2);
  const runs = 100;
  let [sum, squares, stated] = [0, 0, 0];
  for (let run = 0; run < runs; run++) {
    const found = alignDisparity(pair(12.5, { noise, contrast: 20 }), PIXELS, PIXELS.length, 12.3)!;
    const error = found.disparityPixels - 12.5;
    sum += error;
    squares += error * error;
    stated += found.standardErrorPixels / runs;
  }
  const deviation = Math.sqrt(squares / runs - (sum / runs) ** 2);
  expect(Math.abs(sum / runs)).toBeLessThan(0.01);
  expect(deviation / stated).toBeGreaterThan(0.7);
  expect(deviation / stated).toBeLessThan(1.5);
});

test("a blank surface, noise alone, unlike images and too few pixels inside have no shift", () => {
  const generator = new Random(6);
  const random = () => generator.whole(0, 1000) / 1000;
  const noise = () => 8 * (random() - 0.5);
  expect(alignDisparity(pair(12, { contrast: 0 }), PIXELS, PIXELS.length, 12)).toBeUndefined();
  expect(alignDisparity(pair(12, { contrast: 0, noise }), PIXELS, PIXELS.length, 12)).toBeUndefined();
  const { left } = pair(12);
  const { right } = pair(12, { contrast: 0, noise: () => 200 * (random() - 0.5) });
  expect(alignDisparity({ width: WIDTH, left, right }, PIXELS, PIXELS.length, 12)).toBeUndefined();
  // Their matches lie outside the image.
  expect(alignDisparity(pair(12), PIXELS, PIXELS.length, 90)).toBeUndefined();
  for (const count of [0, 4, 11]) expect(alignDisparity(pair(12), PIXELS, count, 12)).toBeUndefined();
  expect(alignDisparity(pair(12), PIXELS, 24, 12)).toBeDefined();
});

test("a shift half a pixel away is another surface", () => {
  const found = (start: number) => alignDisparity(pair(12), PIXELS, PIXELS.length, start)?.disparityPixels;
  expect([found(12.46), found(11.54)]).toEqual([expect.closeTo(12, 1), expect.closeTo(12, 1)]);
  expect([found(12.54), found(11.46)]).toEqual([undefined, undefined]);
});

test.each([
  [2.5, 4, true],
  [2.5, 3, false],
  [2.5, 94, true],
  [2.5, 95, false],
  [-2.5, 1, true],
  [-2.5, 0, false],
  [-2.5, 91, true],
  [-2.5, 92, false],
])("with disparity %d the column %i counts: %s", (disparity, column, counts) => {
  // With 11 pixels of the middle rows it is the twelfth, which is needed.
  const pixels = Uint32Array.from({ length: 12 }, (_, i) => (4 + i) * WIDTH + (i < 11 ? 30 + 3 * i : column));
  expect(alignDisparity(pair(disparity), pixels, 12, disparity) !== undefined).toBe(counts);
});
