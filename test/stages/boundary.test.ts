// SPDX-License-Identifier: Apache-2.0
// Three witnesses for the boundary vote: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.boundary as unknown as (call: object) => string;

function boundary(variant: string, width: number, height: number, grey: Uint8Array, disparityQ4: Int16Array) {
  const result = new Int16Array(width * height);
  const ran = stage({ variant, width, height, grey, disparityQ4, result });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return result;
}

const forms = ["reference", ...variants];

/** [width][height] images of one row's pattern in every row. */
function rows<A extends Uint8Array | Int16Array>(pattern: A, height: number): A {
  const image = new (pattern.constructor as new (length: number) => A)(pattern.length * height);
  for (let y = 0; y < height; ++y) image.set(pattern, y * pattern.length);
  return image;
}

describe.each(forms)("boundary, %s: by hand", (variant) => {
  // Grey changes at x = 50. The disparity edge is at `edge` instead: wide images, so that vectors answer.
  const [width, height] = [100, 20];
  const grey = rows(
    Uint8Array.from({ length: width }, (_, x) => (x < 50 ? 40 : 160)),
    height,
  );
  const step = (edge: number, near: number, far: number) =>
    rows(
      Int16Array.from({ length: width }, (_, x) => (x < edge ? far : near)),
      height,
    );

  test("an edge two pixels next to the grey one moves onto it, from three it comes one pixel nearer", () => {
    // Only pixels of the own grey vote (the others differ by 120), so x = 48 is decided by columns 44 to 49. With the edge at
    // 48 those are two near and four far: it becomes far, and 49 (two near, three far) does too. With the edge at 47, three
    // are near: 47 has four far against it and changes, 48 has three and stays.
    expectSameImage(
      boundary(variant, width, height, grey, step(48, 320, 80)),
      step(50, 320, 80),
      width,
      "from 48",
    );
    expectSameImage(
      boundary(variant, width, height, grey, step(52, 320, 80)),
      step(50, 320, 80),
      width,
      "from 52",
    );
    expectSameImage(
      boundary(variant, width, height, grey, step(47, 320, 80)),
      step(48, 320, 80),
      width,
      "from 47",
    );
  });

  test("a step of 12/16 px is a slope and stays, one of 13/16 moves", () => {
    expectSameImage(boundary(variant, width, height, grey, step(48, 92, 80)), step(48, 92, 80), width, "12");
    expectSameImage(boundary(variant, width, height, grey, step(48, 93, 80)), step(50, 93, 80), width, "13");
  });

  test("grey values that differ by 16 have no vote, by 15 one of 1", () => {
    const faint = (difference: number) =>
      rows(
        Uint8Array.from({ length: width }, (_, x) => (x < 50 ? 40 : 40 + difference)),
        height,
      );
    expectSameImage(
      boundary(variant, width, height, faint(16), step(49, 320, 80)),
      step(50, 320, 80),
      width,
      "16",
    );
    // In one grey alone every window of 9 columns is decided by its own majority: nothing moves.
    expectSameImage(
      boundary(variant, width, height, faint(0), step(49, 320, 80)),
      step(49, 320, 80),
      width,
      "0",
    );
  });

  test("a pixel that changes sides takes the closest value there: up before left before right before down", () => {
    const flat = new Uint8Array(5 * 5).fill(9);
    const image = new Int16Array(25).fill(100);
    image[12] = 900;
    image[7] = 101; // above
    image[11] = 102; // left
    image[13] = 103;
    image[17] = 104;
    expect(boundary(variant, 5, 5, flat, image)[12]).toBe(101);
    image[7] = INVALID;
    expect(boundary(variant, 5, 5, flat, image)[12]).toBe(102);
  });

  test("invalid pixels stay and do not vote", () => {
    const flat = new Uint8Array(100).fill(9);
    const image = new Int16Array(100).fill(INVALID);
    image[55] = 160;
    image[56] = 480;
    image[57] = 480;
    const result = boundary(variant, 10, 10, flat, image);
    expect([result[54], result[55], result[56]]).toEqual([INVALID, 480, 480]);
  });
});

describe.each(forms)("boundary, %s: properties", (variant) => {
  test("a smooth surface is untouched, and no value is invented", () => {
    const random = new Random();
    const [width, height] = [83, 31];
    const grey = random.fill(new Uint8Array(width * height), 0, 255);
    const plane = Int16Array.from(
      { length: width * height },
      (_, i) => 200 + ((i % width) >> 1) + (Math.floor(i / width) >> 1),
    );
    expectSameImage(boundary(variant, width, height, grey, plane), plane, width, `seed ${random.seed}`);
    const patches = plane.map(() => random.pick([100, 200, 600]));
    for (const value of boundary(variant, width, height, grey, patches))
      expect([100, 200, 600]).toContain(value);
  });

  test("shifting all disparities shifts the result", () => {
    const random = new Random();
    const [width, height] = [75, 20];
    const grey = random.fill(new Uint8Array(width * height), 100, 130);
    const image = random.fill(new Int16Array(width * height), 0, 90);
    const shifted = boundary(
      variant,
      width,
      height,
      grey,
      image.map((d) => d + 512),
    );
    const expected = boundary(variant, width, height, grey, image).map((d) => d + 512);
    expectSameImage(shifted, expected, width, `seed ${random.seed}`);
  });
});

describe.each(variants)("boundary, %s: twin of the reference", (variant) => {
  const shapes = [
    ...AWKWARD_WIDTHS.map((width) => [width, 11] as const),
    [300, 1],
    [130, 4],
    [1, 40],
  ] as const;

  test.each(shapes)("%i x %i: patches, noise, holes", (width, height) => {
    const random = new Random();
    for (const oneHoleIn of [2, 12, 100_000]) {
      const grey = random.fill(new Uint8Array(width * height), 100, random.pick([110, 130, 255]));
      const image = new Int16Array(width * height);
      for (let i = 0; i < image.length; ++i) {
        image[i] = random.whole(0, 7) === 0 || i === 0 ? random.whole(0, 700) : image[i - 1]!;
        if (random.whole(1, oneHoleIn) === 1) image[i] = INVALID;
      }
      const expected = boundary("reference", width, height, grey, image);
      const got = boundary(variant, width, height, grey, image);
      expectSameImage(got, expected, width, `seed ${random.seed}, one hole in ${oneHoleIn}`);
    }
  });
});
