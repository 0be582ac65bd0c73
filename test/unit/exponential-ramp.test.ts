// SPDX-License-Identifier: Apache-2.0
// The ramp of Fig. 7 (Yu et al. 2010): disparity rises from 0 to 64 from left to right, and ESAW is wrong about twice as often as
// ESMP. Constructed: fine texture, the right view sampled from the left one at the ramp's place.
import { expect, test } from "vitest";
import { native, Random } from "../doubles/stages.js";

const [WIDTH, HEIGHT, LARGEST] = [320, 96, 64];

/** Noise of two pixels, 0 to 255: "in highly textured areas, pixels may have large matching errors" a little next to the truth. */
function texture(random: Random, width: number, height: number): Float64Array {
  const columns = width / 2 + 2;
  const lattice = random.fill(new Float64Array(columns * (height / 2 + 2)), 0, 255);
  return Float64Array.from({ length: width * height }, (_, p) => {
    const [x, y] = [(p % width) / 2, Math.trunc(p / width) / 2];
    const [i, j] = [Math.trunc(x), Math.trunc(y)];
    const at = (di: number, dj: number) => lattice[(j + dj) * columns + i + di]!;
    const between = (dj: number) => (1 - x + i) * at(0, dj) + (x - i) * at(1, dj);
    return (1 - y + j) * between(0) + (y - j) * between(1);
  });
}

/** x_left = x_right + d(x_left), d = LARGEST x_left / (WIDTH - 1). */
function ramp(random: Random) {
  const exact = texture(random, WIDTH, HEIGHT);
  const left = Uint8Array.from(exact, Math.round);
  const right = Uint8Array.from(left, (_, p) => {
    const x = (p % WIDTH) / (1 - LARGEST / (WIDTH - 1));
    const i = Math.min(WIDTH - 2, Math.trunc(x));
    const row = p - (p % WIDTH);
    const share = Math.min(1, x - i);
    return Math.round((1 - share) * exact[row + i]! + share * exact[row + i + 1]!);
  });
  const rgb = Uint8Array.from({ length: 3 * left.length }, (_, i) => left[Math.trunc(i / 3)]!);
  return { left, right, leftRgb: rgb, rightRgb: rgb };
}

function badPercent(algorithm: string, images: ReturnType<typeof ramp>): number {
  const disparityQ4 = new Int16Array(WIDTH * HEIGHT);
  const call = { width: WIDTH, height: HEIGHT, minDisparity: 0, numDisparities: LARGEST + 1, threads: 2 };
  const stage = native.stages.match as unknown as (call: object) => string;
  const confidence = new Uint8Array(WIDTH * HEIGHT);
  const [variant] = native.cpuFeatures().available;
  stage({ ...call, ...images, variant, algorithm, disparityQ4, confidence });
  let bad = 0;
  for (let p = 0; p < disparityQ4.length; ++p) {
    const truth = (LARGEST * (p % WIDTH)) / (WIDTH - 1);
    if (Math.abs(disparityQ4[p]! / 16 - truth) > 1) ++bad;
  }
  return (100 * bad) / disparityQ4.length;
}

test("on a ramp ESAW is wrong about twice as often as ESMP", () => {
  const random = new Random();
  const images = ramp(random);
  const [esaw, esmp] = [badPercent("esaw", images), badPercent("esmp", images)];
  const what = `seed ${random.seed}: esaw ${esaw.toFixed(2)} %, esmp ${esmp.toFixed(2)} %`;
  expect(esaw / esmp, what).toBeGreaterThan(1.7);
  expect(esaw / esmp, what).toBeLessThan(2.5);
});
