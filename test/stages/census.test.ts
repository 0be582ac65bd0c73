// SPDX-License-Identifier: Apache-2.0
// Three witnesses for the census transform: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

type Pixels = Uint8Array | Uint16Array;

const stage = native.stages.census as unknown as (call: {
  variant: string;
  width: number;
  height: number;
  strideBytes?: number;
  image: Pixels;
  census: Uint32Array;
}) => string;

function census(variant: string, width: number, height: number, image: Pixels, strideBytes?: number) {
  const result = new Uint32Array(width * height);
  const call = { variant, width, height, image, census: result };
  const ran = stage(strideBytes === undefined ? call : { ...call, strideBytes });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return result;
}

const forms = ["reference", ...variants];

describe.each(forms)("census, %s: by hand", (variant) => {
  const column = (x: number) => Uint8Array.from({ length: 9 }, (_, i) => (i % 3 === x ? 9 : 0));

  test("a brighter right side gives ones, a brighter left side leaves only the ties", () => {
    expect(census(variant, 3, 3, column(2))[4]).toBe(0x7fffffff);
    expect(census(variant, 3, 3, column(0))[4]).toBe(7);
  });

  test("a flat image is all ties", () => {
    for (const word of census(variant, 11, 5, new Uint8Array(55).fill(200))) expect(word).toBe(0x7fffffff);
  });

  test("a single bright pixel sets and clears exactly the bits of the pairs it is in", () => {
    // 9 x 7, all 0 but I(4 + 2, 3 - 1) = 5. Seen from (4, 3) it is u of the pair i = 2, j = -1: u >= v holds as it does for
    // every tie, so all bits are one. Seen from (8, 1) it is at dx -2, dy +1, so it is v of the same pair: that bit is
    // zero, and it is number 7 (for i = 1) + 2 = 9 of the concatenation, bit 30 - 9 = 21.
    const image = new Uint8Array(63);
    image[2 * 9 + 6] = 5;
    const words = census(variant, 9, 7, image);
    expect(words[3 * 9 + 4]).toBe(0x7fffffff);
    expect(words[1 * 9 + 8]).toBe((0x7fffffff & ~(1 << 21)) >>> 0);
  });

  test("the order of the 31 bits, one by one", () => {
    const order: [number, number][] = [];
    for (let i = 1; i <= 4; ++i) for (let j = -3; j <= 3; ++j) order.push([i, j]);
    for (let j = 1; j <= 3; ++j) order.push([0, j]);
    const width = 80; // wide enough that the vector part is what answers
    for (const [k, [i, j]] of order.entries()) {
      const image = new Uint8Array(width * 9).fill(50);
      image[(4 - j) * width + 40 - i] = 51; // v of pair k, seen from (40, 4)
      expect(census(variant, width, 9, image)[4 * width + 40], `pair ${i},${j}`).toBe(
        (0x7fffffff & ~(1 << (30 - k))) >>> 0,
      );
    }
  });
});

describe.each(forms)("census, %s: properties", (variant) => {
  test("a strictly rising change of brightness changes nothing", () => {
    const random = new Random();
    const image = random.fill(new Uint8Array(71 * 23), 0, 100);
    const brighter = image.map((value) => 2 * value + 31);
    expectSameImage(
      census(variant, 71, 23, brighter),
      census(variant, 71, 23, image),
      71,
      `seed ${random.seed}`,
    );
  });

  test("moving the image moves the census, away from the border", () => {
    const random = new Random();
    const [width, height, k] = [90, 12, 5];
    const image = random.fill(new Uint8Array(width * height), 0, 255);
    const moved = image.map((_, i) => image[i + k] ?? 0);
    const before = census(variant, width, height, image);
    const after = census(variant, width, height, moved);
    for (let y = 3; y < height - 3; ++y) {
      for (let x = 4; x < width - 4 - k; ++x) expect(after[y * width + x]).toBe(before[y * width + x + k]);
    }
  });

  test("8-bit and 16-bit images of the same order agree", () => {
    const random = new Random();
    const image = random.fill(new Uint8Array(67 * 19), 0, 255);
    const wide = Uint16Array.from(image, (value) => value * 257);
    expectSameImage(census(variant, 67, 19, wide), census(variant, 67, 19, image), 67, `seed ${random.seed}`);
  });
});

describe.each(variants)("census, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 9] as const), [300, 1], [33, 2], [1, 40]] as const;

  test.each(shapes)("%i x %i, 8 and 16 bit, packed and strided", (width, height) => {
    const random = new Random();
    for (const high of [1, 255]) {
      const stride = width + random.whole(1, 9);
      const image = random.fill(new Uint8Array(stride * height), 0, high);
      const what = `seed ${random.seed}, values to ${high}`;
      const expected = census("reference", width, height, image, stride);
      expectSameImage(census(variant, width, height, image, stride), expected, width, what);

      const wide = random.fill(new Uint16Array(stride * height), 0, high * 257);
      expectSameImage(
        census(variant, width, height, wide, stride * 2),
        census("reference", width, height, wide, stride * 2),
        width,
        `${what}, 16 bit`,
      );
    }
  });
});

describe("census: bad calls", () => {
  test("an instruction set that is not there is an error, never another one", () => {
    expect(() => census("sse9", 8, 8, new Uint8Array(64))).toThrow(
      expect.objectContaining({ code: "BACKEND_UNAVAILABLE" }),
    );
  });

  test("a buffer that is too small is an error", () => {
    expect(() => census("scalar", 8, 9, new Uint8Array(64))).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining("72") }),
    );
  });
});
