// SPDX-License-Identifier: Apache-2.0
// The alignment of a detection's pixels: known shifts of a smooth texture, gain, offset, noise, blank and unlike images.
import fc from "fast-check";
import { expect, test } from "vitest";
import { alignDisparity } from "../../../edge/outputs/detections/align.js";
import { Random } from "../../doubles/random.js";
import { seededRandom } from "../../doubles/rvl-pictures.js";

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

test("shift and standard error are those of least squares, with offset and gain corrected", () => {
  // Few pixels of little contrast, not rounded: each sum matters. Each row is a parabola, which splines follow.
  const random = seededRandom(7);
  const [start, count] = [12.3, 20];
  const right = new Float64Array(WIDTH * HEIGHT);
  const left = Float64Array.from(right, () => random());
  const rows = Array.from({ length: count }, (_, y) => {
    const [a, b, c] = [0.3 * random(), 0.3 * random() - 0.15, 0.01 * random() - 0.005];
    const x = 40 + (y % 7);
    const value = (at: number) => a + b * (at - 30) + c * (at - 30) ** 2;
    for (let at = 0; at < WIDTH; at++) right[y * WIDTH + at] = value(at);
    for (const near of [-1, 0, 1])
      left[y * WIDTH + x + near] = 0.05 + 1.02 * value(x + near - start) + 0.001 * random();
    const [before, here, behind] = [-1, 0, 1].map((near) => left[y * WIDTH + x + near]!) as [
      number,
      number,
      number,
    ];
    const grey = value(x - start);
    return { at: y * WIDTH + x, grey, e: here - grey, g: behind - before, h: b + 2 * c * (x - start - 30) };
  });
  const column = (name: keyof (typeof rows)[number]) => rows.map((row) => row[name]);
  const dot = (one: number[], other: number[]) => one.reduce((sum, value, i) => sum + value * other[i]!, 0);
  const centred = (from: number[]) =>
    from.map(
      (value) =>
        value -
        dot(
          from,
          from.map(() => 1),
        ) /
          from.length,
    );
  const grey = centred(column("grey"));
  /** The part of a column that no offset and no gain explains; a contrast of 1 counts against the gain. */
  const rest = (from: number[]) => {
    const gain = dot(from, grey) / (dot(grey, grey) + 1);
    return centred(from).map((value, i) => value - gain * grey[i]!);
  };
  const [e, g, h] = [column("e"), column("g"), column("h")];
  const shift = -dot(g, rest(e)) / dot(g, rest(h));
  const error = Math.sqrt((dot(e, rest(e)) / (rows.length - 3)) * dot(g, rest(g))) / dot(g, rest(h));
  // So small a shift is the last one.
  expect(Math.abs(shift)).toBeLessThan(0.005);
  expect(error).toBeLessThan(0.05);
  const images = { width: WIDTH, left, right } as unknown as Parameters<typeof alignDisparity>[0];
  const found = alignDisparity(images, Uint32Array.from(column("at")), count, start)!;
  expect((found.disparityPixels - start) / shift).toBeCloseTo(1, 8);
  expect(found.standardErrorPixels / error).toBeCloseTo(1, 8);
});

test("between pixels a parabola is exact: its shift is found without any error", () => {
  // Catmull-Rom splines follow parabolas, and so do these images, whose values are not rounded.
  const parabola = (x: number) => (x - 48) ** 2 / 16;
  const image = (shift: number) =>
    Float64Array.from({ length: WIDTH * HEIGHT }, (_, i) => parabola((i % WIDTH) + shift));
  const images = { width: WIDTH, left: image(0), right: image(7.3) } as unknown as Parameters<
    typeof alignDisparity
  >[0];
  const found = alignDisparity(images, PIXELS, PIXELS.length, 7)!;
  expect(found.disparityPixels).toBeCloseTo(7.3, 6);
  expect(found.standardErrorPixels).toBeLessThan(1e-5);
});

test("an error of more than 0.05 pixels says nothing", () => {
  const found = (amplitude: number) => {
    const generator = new Random(8);
    const noise = () => amplitude * (generator.whole(0, 1000) / 500 - 1);
    return alignDisparity(pair(12, { contrast: 10, noise }), PIXELS, 60, 12);
  };
  expect(found(1)!.standardErrorPixels).toBeLessThan(0.05);
  expect(found(8)).toBeUndefined();
});

test.each([
  [2000, false],
  [2001, true],
  [4000, true],
  [4001, false],
])("of %i pixels at most 2000 are read, every second one or third: %s", (count, isFound) => {
  const images = pair(12);
  // The odd ones are in rows that are unlike in the images.
  const wrongRow = WIDTH * (HEIGHT - 1);
  images.right.fill(0, wrongRow - 3 * WIDTH);
  const pixels = Uint32Array.from({ length: count }, (_, i) =>
    i % 2 === 0 ? PIXELS[i % (48 * 18)]! : wrongRow - 2 * WIDTH + 36 + (i % 48),
  );
  expect(alignDisparity(images, pixels, count, 12) !== undefined).toBe(isFound);
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
