// SPDX-License-Identifier: Apache-2.0
// Three witnesses for the speckle filter: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.speckle as unknown as (call: object) => string;

interface Call {
  width: number;
  height: number;
  strideBytes?: number;
  minPixels: number;
  rangeQ4: number;
  disparityQ4: Int16Array;
  confidence?: Uint8Array;
  threads?: number;
}

/** Runs on copies; what was filtered comes back. */
function speckle(variant: string, call: Call) {
  const own = { ...call, disparityQ4: call.disparityQ4.slice() };
  if (call.confidence) own.confidence = call.confidence.slice();
  expect(stage({ variant, ...own }), "the form that was asked for is the form that ran").toBe(variant);
  return own;
}

/** '.' is invalid, a digit d is the disparity 16 d. */
function picture(...rows: string[]) {
  const [width, height] = [rows[0]!.length, rows.length];
  const disparityQ4 = Int16Array.from(rows.join(""), (c) => (c === "." ? INVALID : 16 * Number(c)));
  return { width, height, disparityQ4 };
}

function drawn(width: number, image: Int16Array): string[] {
  const text = Array.from(image, (v) => (v === INVALID ? "." : String(v / 16))).join("");
  return text.match(new RegExp(`.{${width}}`, "g"))!;
}

const forms = ["reference", ...variants];

describe.each(forms)("speckle, %s: by hand", (variant) => {
  test("small regions go, large ones stay; diagonal neighbours are not joined", () => {
    const scene = picture("1123", "1.33", ".3..");
    // The ones join the two by a step of one, and so on to all threes on the right: seven pixels. The lone 3 below touches
    // them only through a corner.
    const { disparityQ4 } = speckle(variant, { ...scene, minPixels: 7, rangeQ4: 16 });
    expect(drawn(4, disparityQ4)).toEqual(["1123", "1.33", "...."]);
    const all = speckle(variant, { ...scene, minPixels: 8, rangeQ4: 16 });
    expect(drawn(4, all.disparityQ4)).toEqual(["....", "....", "...."]);
    const strict = speckle(variant, { ...scene, minPixels: 3, rangeQ4: 15 });
    expect(drawn(4, strict.disparityQ4)).toEqual(["11.3", "1.33", "...."]);
  });

  test("a spiral is one region, and its arms are not joined across a step", () => {
    const scene = picture("11111", "1...1", "1.9.1", "1.9..", "1.111");
    const cut = speckle(variant, { ...scene, minPixels: 11, rangeQ4: 16 });
    expect(drawn(5, cut.disparityQ4)).toEqual(["11111", "1...1", "1...1", "1....", "1...."]);
  });

  test("a region that two rows join late is one region (union, not first label)", () => {
    const scene = picture("1.1.1.1", "1.1.1.1", "1111111");
    const kept = speckle(variant, { ...scene, minPixels: 15, rangeQ4: 0 });
    expectSameImage(kept.disparityQ4, scene.disparityQ4, 7, "comb");
    const removed = speckle(variant, { ...scene, minPixels: 16, rangeQ4: 0 });
    for (const value of removed.disparityQ4) expect(value).toBe(INVALID);
  });

  test("0 and 1 pixels remove nothing; confidence goes with the disparity", () => {
    const scene = picture("1.9", "...", "999");
    for (const minPixels of [0, 1]) {
      const off = speckle(variant, { ...scene, minPixels, rangeQ4: 16 });
      expectSameImage(off.disparityQ4, scene.disparityQ4, 3, `minPixels ${minPixels}`);
    }
    const confidence = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9);
    const { confidence: after } = speckle(variant, { ...scene, confidence, minPixels: 2, rangeQ4: 16 });
    expect([...after!]).toEqual([0, 2, 0, 4, 5, 6, 7, 8, 9]);
  });

  test("the widest range joins the farthest values but never the invalid one", () => {
    const scene = { width: 4, height: 1, disparityQ4: Int16Array.of(-32767, 0, INVALID, 32767) };
    const result = speckle(variant, { ...scene, minPixels: 2, rangeQ4: 32767 });
    expect([...result.disparityQ4]).toEqual([-32767, 0, INVALID, INVALID]);
  });
});

/** Blobs: random values smoothed into regions of several sizes. */
function blobs(random: Random, width: number, height: number, stride = width): Int16Array {
  const image = new Int16Array(stride * height);
  for (let i = 0; i < image.length; ++i) {
    const copied = random.whole(0, 9);
    if (copied < 4 && i > 0) image[i] = image[i - 1]!;
    else if (copied < 8 && i >= stride) image[i] = image[i - stride]!;
    else image[i] = random.whole(0, 4) === 0 ? INVALID : 16 * random.whole(0, 5);
  }
  return image;
}

describe.each(forms)("speckle, %s: properties", (variant) => {
  test("filtering twice is filtering once, and a larger size removes no less", () => {
    const random = new Random();
    const call = { width: 90, height: 40, disparityQ4: blobs(random, 90, 40), rangeQ4: 16 };
    const once = speckle(variant, { ...call, minPixels: 12 });
    const twice = speckle(variant, once);
    expectSameImage(twice.disparityQ4, once.disparityQ4, 90, `seed ${random.seed}`);
    const more = speckle(variant, { ...call, minPixels: 40 }).disparityQ4;
    for (let i = 0; i < more.length; ++i) {
      if (once.disparityQ4[i] === INVALID) expect(more[i], `seed ${random.seed}, ${i}`).toBe(INVALID);
    }
  });

  test("turning the image upside down turns the result", () => {
    const random = new Random();
    const image = blobs(random, 75, 33);
    const call = { width: 75, height: 33, minPixels: 9, rangeQ4: 16 };
    const turned = speckle(variant, { ...call, disparityQ4: image.slice().reverse() }).disparityQ4;
    const plain = speckle(variant, { ...call, disparityQ4: image }).disparityQ4;
    expectSameImage(turned.reverse(), plain, 75, `seed ${random.seed}`);
  });
});

describe.each(variants)("speckle, %s: twin of the reference", (variant) => {
  const shapes = [
    ...AWKWARD_WIDTHS.map((width) => [width, 17] as const),
    [300, 1],
    [1, 40],
    [64, 3],
  ] as const;

  test.each(shapes)("%i x %i, 1 to 7 threads, packed and strided", (width, height) => {
    const random = new Random();
    for (const threads of [1, 2, 3, 7]) {
      const stride = width + random.whole(0, 9);
      const call: Call = {
        width,
        height,
        strideBytes: 2 * stride,
        minPixels: random.whole(2, 40),
        rangeQ4: random.pick([0, 15, 16, 40]),
        disparityQ4: blobs(random, width, height, stride),
        confidence: random.fill(new Uint8Array(width * height), 1, 255),
      };
      const what = `seed ${random.seed}, ${threads} threads, ${call.minPixels} pixels, range ${call.rangeQ4}`;
      const expected = speckle("reference", call);
      const got = speckle(variant, { ...call, threads });
      expectSameImage(got.disparityQ4, expected.disparityQ4, stride, what);
      expectSameImage(got.confidence!, expected.confidence!, width, `${what}, confidence`);
    }
  });
});

describe("speckle: bad calls", () => {
  test("sizes and ranges outside their bounds are refused by name", () => {
    const call = { ...picture("11"), minPixels: 4, rangeQ4: 32768 };
    expect(() => speckle("scalar", call)).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining("rangeQ4") }),
    );
  });
});
