// SPDX-License-Identifier: Apache-2.0
// Every matcher of the registry through the contract alone: each instruction set and number of threads gives the bits of its
// definition (of the scalar form, where it has none). A new matcher is tested here without a line.
import { expect, test } from "vitest";
import { MATCHERS } from "../../cuda/index.js";
import { expectSameImage, native, Random, variants } from "../doubles/stages.js";
import { layeredPair } from "../doubles/stereo-pair.js";

const match = native.stages.match as unknown as (call: object) => string;

interface Call {
  parameters?: Record<string, number | string | boolean>;
  width: number;
  height: number;
  algorithm: string;
  minDisparity: number;
  numDisparities: number;
}

function run(call: Call, variant: string, threads = 1) {
  const pixels = call.width * call.height;
  const disparityQ4 = new Int16Array(pixels).fill(77);
  const confidence = new Uint8Array(pixels).fill(77);
  expect(match({ ...call, variant, threads, disparityQ4, confidence })).toBe(variant);
  return { disparityQ4, confidence };
}

/** The definition, or the scalar form where there is none. */
function expected(call: Call) {
  try {
    return run(call, "reference");
  } catch (error) {
    expect(error).toMatchObject({ code: "BACKEND_UNAVAILABLE", message: expect.stringMatching(/has none/) });
    return run(call, "scalar");
  }
}

const SIZES = [
  [61, 23],
  [40, 17],
  [17, 9],
] as const;

test.each(MATCHERS.map(({ name }) => name))("%s gives the definition's bits in every form", (algorithm) => {
  for (const [width, height] of SIZES) {
    const { left, right } = layeredPair(width, height, width);
    const random = new Random(height);
    const colours = () => random.fill(new Uint8Array(3 * width * height), 0, 255);
    const images = { width, height, left, right, leftRgb: colours(), rightRgb: colours() };
    for (const halfResolution of [false, true]) {
      const call = {
        ...images,
        algorithm,
        halfResolution,
        leftRight: halfResolution,
        minDisparity: halfResolution ? 1 : 0,
        numDisparities: 24,
      };
      const reference = expected(call);
      for (const variant of variants) {
        for (const threads of [1, 3]) {
          const what = `${variant}, ${threads} threads, ${width}x${height}`;
          const got = run(call, variant, threads);
          expectSameImage(got.disparityQ4, reference.disparityQ4, width, what);
          expectSameImage(got.confidence, reference.confidence, width, `${what}, confidence`);
        }
      }
    }
  }
});

/** Words of two registers, in every kind of cell and path set that the matcher has a form for. */
const WIDE_WORDS: Record<string, number | string>[] = [
  { paths: 4, p1: 18, p2: 58, adaptiveP2: 8 },
  { paths: 4, p1: 12, p2: 100, adaptiveP2: 0 },
  { paths: 8, p1: 10, p2: 110, adaptiveP2: 0 },
  { paths: 2, p1: 10, p2: 40, adaptiveP2: 4 },
  { paths: 8, p1: 20, p2: 300, adaptiveP2: 16 },
];

test.each(WIDE_WORDS)("sgm with a 62-bit census gives the definition's bits in every form: %j", (own) => {
  for (const numDisparities of [24, 128]) {
    for (const [width, height] of [...SIZES, [200, 11] as const]) {
      const { left, right } = layeredPair(width, height, width);
      const parameters = { cost: "wideCensus", outsideCost: 16, uniqueness: 8, subpixel: true, ...own };
      const call = {
        width,
        height,
        left,
        right,
        algorithm: "sgm",
        parameters,
        minDisparity: 1,
        numDisparities,
        leftRight: true,
      };
      const reference = run(call, "reference");
      for (const variant of variants) {
        const got = run(call, variant, 2);
        const what = `${variant}, ${width}x${height}, ${numDisparities}`;
        expectSameImage(got.disparityQ4, reference.disparityQ4, width, what);
        expectSameImage(got.confidence, reference.confidence, width, `${what}, confidence`);
      }
    }
  }
});

const SEARCHES: [string, Record<string, number | string>, number, number][] = [
  ["usual", {}, 0, 128],
  ["three levels", { paths: 2, adaptiveP2: 0, uniqueness: 8 }, 5, 260],
  ["62-bit census and separate right-image match", { cost: "wideCensus", rightView: "own", p2: 120 }, 0, 96],
  ["a range that is searched completely", { outsideCost: 63 }, 3, 64],
];

test.each(SEARCHES)(
  "sgm from coarse to fine gives the definition's bits: %s",
  (_, own, minDisparity, numDisparities) => {
    for (const [width, height] of [
      [61, 23],
      [1, 1],
      [1, 9],
      [150, 11],
    ] as const) {
      const { left, right } = layeredPair(width, height, width);
      const search = { minDisparity, numDisparities, leftRight: true };
      const call = { width, height, left, right, algorithm: "sgm", ...search };
      const guided = { ...call, parameters: { ...own, search: "coarseToFine" } };
      const reference = run(guided, "reference");
      for (const variant of variants) {
        const got = run(guided, variant, 3);
        const what = `${variant}, ${width}x${height}`;
        expectSameImage(got.disparityQ4, reference.disparityQ4, width, what);
        expectSameImage(got.confidence, reference.confidence, width, `${what}, confidence`);
      }
      if (numDisparities > 64) continue;
      const full = run({ ...call, parameters: own }, "scalar");
      expectSameImage(full.disparityQ4, reference.disparityQ4, width, "full search");
    }
  },
);

test.each([
  [{ paths: 8 }, "match.sgm.paths: expected 2 or 4 with match.sgm.search coarseToFine, got 8."],
  [{ p2: 128 }, "match.sgm.p2: expected at most 127 with match.sgm.search coarseToFine, got 128."],
])("coarse-to-fine search refuses %j", (own, message) => {
  const { left, right } = layeredPair(9, 9);
  const size = { width: 9, height: 9, left, right, minDisparity: 0, numDisparities: 128 };
  const parameters = { ...own, search: "coarseToFine" };
  expect(() => run({ ...size, algorithm: "sgm", parameters }, "scalar")).toThrow(message);
});

test("a matcher that is not there is named with those that are", () => {
  const { left, right } = layeredPair(9, 9);
  const call = { width: 9, height: 9, left, right, algorithm: "esp", minDisparity: 0, numDisparities: 8 };
  expect(() => run(call, "scalar")).toThrow(
    "Expected sgm, cbca, esaw, esmp, sad or pyramid for match.algorithm, got 'esp'.",
  );
});
