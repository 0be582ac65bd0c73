// SPDX-License-Identifier: Apache-2.0
// Three witnesses for hole filling: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectIs, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.fill as unknown as (call: object) => string;

interface Call {
  width: number;
  height: number;
  method: string;
  thresholdQ4?: number;
  lowestQ4?: number;
  highestQ4?: number;
  grey?: Uint8Array;
  threads?: number;
  confidence?: Uint8Array;
}

function fill(variant: string, disparityQ4: Int16Array, call: Call): Int16Array {
  const filled = disparityQ4.slice();
  const grey = call.grey ?? new Uint8Array(filled.length);
  const defaults = { thresholdQ4: 48, lowestQ4: 0, highestQ4: 16 * 127 };
  const ran = stage({ variant, ...defaults, ...call, grey, disparityQ4: filled });
  expectIs(ran, variant, "the form that ran");
  return filled;
}

/** Greys of which no two within five pixels are alike: each end of a hole stands for itself. */
const apart = (pixels: number) => Uint8Array.from({ length: pixels }, (_, i) => i * 37);

/** One row; null is a hole. */
function row(variant: string, values: (number | null)[], given: Omit<Call, "width" | "height">): number[] {
  const image = Int16Array.from(values, (value) => value ?? INVALID);
  const call = { grey: apart(values.length), ...given };
  return [...fill(variant, image, { width: values.length, height: 1, ...call })];
}

const forms = ["reference", ...variants];

describe.each(forms)("fill, %s: by hand", (variant) => {
  test("a small step is bridged by a straight line, halves upwards", () => {
    // From 10 to 20 over four holes: 10 + 2, 4, 6, 8. From 10 to 13 over one: 11.5, so 12. Back: 13 - 1.5 = 11.5, so 12.
    expect(row(variant, [10, null, null, null, null, 20], { method: "bilateral" })).toEqual([
      10, 12, 14, 16, 18, 20,
    ]);
    expect(row(variant, [10, null, 13], { method: "bilateral" })).toEqual([10, 12, 13]);
    expect(row(variant, [13, null, 10], { method: "bilateral" })).toEqual([13, 12, 10]);
  });

  test("bilateral: beyond the threshold the neighbour of the more similar grey, the left one on a tie", () => {
    const grey = Uint8Array.of(100, 110, 150, 151, 200);
    const values = [0, null, null, null, 160];
    expect(row(variant, values, { method: "bilateral", grey })).toEqual([0, 0, 0, 160, 160]);
    expect(row(variant, [0, null, null, null, 49], { method: "bilateral", grey })).toEqual([0, 0, 0, 49, 49]);
    expect(row(variant, [0, null, null, null, 48], { method: "bilateral", grey })).toEqual([
      0, 12, 24, 36, 48,
    ]);
  });

  test("background: a hole as an occlusion makes it takes the smaller value, a much wider one is bridged", () => {
    // A step of 32/16 px hides 2 pixels: three holes are an occlusion (4 x 3 <= 32), nine are not (4 x 9 > 32).
    // (A row of up to seven pixels has no strip of shortened search; longer ones here begin with what the strip replaces.)
    const flat = { method: "background", grey: new Uint8Array(25).fill(50) };
    expect(row(variant, [0, null, null, null, 32], flat)).toEqual([0, 0, 0, 0, 32]);
    expect(row(variant, [32, null, null, null, 0], flat)).toEqual([32, 0, 0, 0, 0]);
    const nine = row(variant, [null, 0, ...new Array(9).fill(null), 32], flat);
    expect(nine).toEqual([0, 0, 3, 6, 10, 13, 16, 19, 22, 26, 29, 32]);
    // Eight holes are exactly four times as wide as the step: still an occlusion.
    const eight = row(variant, [null, 0, ...new Array(8).fill(null), 32], flat);
    expect(eight).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32]);
    const wideStep = row(variant, [null, null, null, 0, ...new Array(20).fill(null), 49], flat);
    expect(wideStep.slice(0, 24)).toEqual(new Array(24).fill(0));
  });

  test("background: what need not be an occlusion is split at its strongest grey edge", () => {
    const split = (values: (number | null)[], ...greys: number[]) =>
      row(variant, values, { method: "background", grey: Uint8Array.from(greys) });
    // |I(x) + I(x+1) - I(x-1) - I(x-2)| at x = 1 to 4: 0, 40, 80, 40, with the greys next to the hole repeated beyond it.
    expect(split([32, null, null, null, 0], 50, 50, 50, 90, 90)).toEqual([32, 32, 32, 0, 0]);
    // Its right end is nearer: an occlusion, unless three pixels or more, one and a half times the step of two.
    expect(split([0, null, null, null, 32], 50, 50, 50, 90, 90)).toEqual([0, 0, 0, 32, 32]);
    expect(split([0, null, null, 32], 50, 50, 90, 90)).toEqual([0, 0, 0, 32]);
    // The edge has to be 32 at least: at x = 3 66 + 66 - 50 - 50, and 66 + 65 - 50 - 50.
    expect(split([32, null, null, null, 0], 50, 50, 50, 66, 66)).toEqual([32, 32, 32, 0, 0]);
    expect(split([32, null, null, null, 0], 50, 50, 50, 66, 65)).toEqual([32, 0, 0, 0, 0]);
    // The first of two equal ones; at the hole's beginning, and behind its end.
    expect(split([32, null, null, null, null, null, 0], 50, 50, 90, 90, 50, 50, 50)).toEqual([
      32, 32, 0, 0, 0, 0, 0,
    ]);
    expect(split([32, null, null, null, 0], 50, 90, 90, 90, 90)).toEqual([32, 0, 0, 0, 0]);
    expect(split([32, null, null, null, 0], 50, 50, 50, 50, 90)).toEqual([32, 32, 32, 32, 0]);
  });

  test("background: an end is the lower median of three or more equally grey neighbours", () => {
    // Right of the hole one 5 among 20s. Alone it is an occlusion's edge: min(20, 5); among {5, 20, 20} it is 20.
    const values = [20, 20, 20, null, 5, 20, 20];
    const alike = new Uint8Array(7).fill(50);
    const own = Uint8Array.of(50, 50, 50, 58, 67, 50, 50);
    expect(row(variant, values, { method: "background", grey: alike })[3]).toBe(20);
    expect(row(variant, values, { method: "background", grey: own })[3]).toBe(5);
    expect(row(variant, values, { method: "background", grey: own.map((v) => (v === 67 ? 66 : v)) })[3]).toBe(
      20,
    );
    // {5, 20} has too few values. Of four values the second smallest: {5, 5, 20, 20} gives 5.
    expect(row(variant, [20, 20, 20, null, 5, 20], { method: "background", grey: alike })[3]).toBe(5);
    expect(row(variant, [20, null, 5, 20, 5, 20], { method: "background", grey: alike })[1]).toBe(5);
    // The sixth column is too far: {5, 5, 5, 20, 20}.
    expect(row(variant, [20, null, 5, 20, 5, 20, 5], { method: "background", grey: alike })[1]).toBe(5);
    // Valid pixels stay as they were.
    expect(row(variant, values, { method: "background", grey: alike })[4]).toBe(5);
  });

  test("background: rows up to two above and below count as well, further ones do not", () => {
    const column = (last: number) =>
      [30, 30, 90, last, last].flatMap((v, y) => [v, y === 2 ? INVALID : 0, 30]);
    const call = { width: 3, height: 5, method: "background", grey: new Uint8Array(15).fill(9) };
    // Left end of row 2: {30, 30, 90, 30, 30}, and {30, 30, 90, 90, 90}, against 30 on the right: a step of 60.
    expect(fill(variant, Int16Array.from(column(30)), call)[7]).toBe(30);
    expect(fill(variant, Int16Array.from(column(90)), { ...call, thresholdQ4: 600 })[7]).toBe(30);
    const seven = Int16Array.from([[30, 0, 30], ...Array(6).fill([90, 0, 90])].flat());
    seven[3 * 3 + 1] = INVALID; // the 30s are three rows away
    expect(fill(variant, seven, { ...call, height: 7, grey: new Uint8Array(21).fill(9) })[10]).toBe(90);
  });

  test("the right border copies; the left one copies, or continues with the slope next to it", () => {
    expect(row(variant, [null, 7, null, null], { method: "bilateral" })).toEqual([7, 7, 7, 7]);
    expect(row(variant, [null, 7, null, null], { method: "background" })).toEqual([7, 7, 7, 7]);
    // 16 pixels that rise by 1: halves of 8 differ by 64 in sum, 64 / 64 = 1 per pixel.
    const slope = Array.from({ length: 16 }, (_, i) => 100 + i);
    expect(row(variant, [null, null, ...slope], { method: "background" }).slice(0, 3)).toEqual([98, 99, 100]);
    expect(row(variant, [null, null, ...slope], { method: "bilateral" }).slice(0, 3)).toEqual([
      100, 100, 100,
    ]);
    // 15 are too few; a jump of more than a pixel ends the run; the steepest is 2/16 px a pixel.
    expect(row(variant, [null, null, ...slope.slice(1)], { method: "background" })[0]).toBe(101);
    const jump = slope.map((value, i) => (i < 8 ? value : value + 40));
    expect(row(variant, [null, null, ...jump], { method: "background" })[0]).toBe(100);
    const steep = slope.map((_, i) => 100 + 9 * i);
    expect(row(variant, [null, null, ...steep], { method: "background" }).slice(0, 3)).toEqual([96, 98, 100]);
  });

  test("background: columns whose search was cut to eight candidates are holes, an eighth of the width at most", () => {
    const width = 80;
    const values = Array.from({ length: width }, (_, x) => 16 * x);
    const confidence = new Uint8Array(width).fill(7);
    const filledWith = (lowestQ4: number) =>
      row(variant, values, { method: "background", lowestQ4, confidence, thresholdQ4: 0 });
    // From x = 8 on a rise of 16/16 px a pixel: cut to 2/16, it goes from 128 at x = 8 to 112 at x = 0.
    expect(filledWith(0).slice(0, 10)).toEqual([112, 114, 116, 118, 120, 122, 124, 126, 128, 144]);
    // With 5 px as the smallest disparity 13 columns would be cut short; 80 / 8 = 10 are.
    expect(filledWith(80).slice(9, 11)).toEqual([158, 160]);
    expect([...confidence.subarray(0, 12)]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7]);
    expect(row(variant, values, { method: "bilateral" })).toEqual(values);
  });

  test("extrapolation ends at the search range", () => {
    const falling = Array.from({ length: 16 }, (_, i) => 20 + 2 * i);
    const holes = new Array(8).fill(null);
    const low = row(variant, [...holes, ...falling], { method: "background", lowestQ4: 12 });
    expect(low.slice(0, 9)).toEqual([12, 12, 12, 12, 12, 14, 16, 18, 20]);
    const rising = falling.map((value) => 300 - value);
    const high = row(variant, [...holes, ...rising], { method: "background", highestQ4: 288 });
    expect(high.slice(0, 9)).toEqual([288, 288, 288, 288, 288, 286, 284, 282, 280]);
  });

  test("empty rows take the row above, those at the top the first below; an empty image stays; off does nothing", () => {
    const image = Int16Array.of(INVALID, INVALID, 5, INVALID, INVALID, INVALID, 9, 9, INVALID, INVALID);
    const call = { width: 2, height: 5, method: "bilateral" };
    expect([...fill(variant, image, call)]).toEqual([5, 5, 5, 5, 5, 5, 9, 9, 9, 9]);
    const empty = new Int16Array(10).fill(INVALID);
    expect([...fill(variant, empty, call)]).toEqual([...empty]);
    expect([...fill(variant, image, { ...call, method: "off" })]).toEqual([...image]);
  });
});

function holey(random: Random, length: number, oneHoleIn: number): Int16Array {
  const image = random.fill(new Int16Array(length), 0, 1600);
  for (let i = 1; i < length; ++i) {
    // Runs of holes, and stretches that are smooth enough to have a slope.
    if (random.whole(0, 3) > 0) {
      image[i] = image[i - 1] === INVALID ? INVALID : Math.max(0, image[i - 1]! + random.whole(-9, 12));
    }
    if (random.whole(1, oneHoleIn) === 1) image[i] = INVALID;
    else if (image[i] === INVALID && random.whole(0, 4) === 0) image[i] = random.whole(0, 1600);
  }
  return image;
}

describe.each(forms)("fill, %s: properties", (variant) => {
  test.each(["bilateral", "background"])(
    "%s: valid pixels stay, holes with a neighbour are filled, a second run changes nothing",
    (method) => {
      const random = new Random();
      const [width, height] = [97, 21];
      const image = holey(random, width * height, 5);
      const grey = random.fill(new Uint8Array(width * height), 0, 255);
      const once = fill(variant, image, { width, height, method, grey });
      for (let i = 0; i < image.length; ++i) {
        expectIs(once[i] === INVALID, false, `a hole at ${i}, seed ${random.seed}`);
        const inStrip = method === "background" && i % width < 8;
        if (image[i] !== INVALID && !inStrip) expectIs(once[i], image[i], `seed ${random.seed}`);
      }
      if (method === "background") return; // its first columns are recreated each time
      const twice = fill(variant, once, { width, height, method, grey });
      expectSameImage(twice, once, width, `seed ${random.seed}`);
    },
  );

  test("background between two values never leaves what lies between them", () => {
    const random = new Random();
    const image = holey(random, 4000, 3);
    image.fill(800, 0, 9);
    const filled = fill(variant, image, { width: 4000, height: 1, method: "background", grey: apart(4000) });
    let left = 800;
    for (let x = 8; x < 4000; ++x) {
      if (image[x] !== INVALID) {
        left = image[x]!;
        continue;
      }
      const right = image.subarray(x).find((value) => value !== INVALID) ?? left;
      const isBetween = filled[x]! >= Math.min(left, right) && filled[x]! <= Math.max(left, right);
      expectIs(isBetween, true, `seed ${random.seed}, column ${x}`);
    }
  });
});

describe.each(variants)("fill, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 13] as const), [300, 1], [1, 40]] as const;

  test.each(shapes)("%i x %i, both methods, few and many holes, 1 to 5 threads", (width, height) => {
    const random = new Random();
    for (const method of ["bilateral", "background"]) {
      for (const oneHoleIn of [2, 8, 60]) {
        const image = holey(random, width * height, oneHoleIn);
        const call = {
          width,
          height,
          method,
          grey: random.fill(new Uint8Array(width * height), 0, random.pick([0, 30, 60, 255])),
          thresholdQ4: random.pick([0, 16, 96, 32767]),
          lowestQ4: random.whole(0, 300),
          highestQ4: random.whole(900, 2000),
        };
        const confidences = [
          new Uint8Array(width * height).fill(9),
          new Uint8Array(width * height).fill(9),
        ] as const;
        const expected = fill("reference", image, { ...call, confidence: confidences[0] });
        const got = fill(variant, image, {
          ...call,
          confidence: confidences[1],
          threads: random.whole(1, 5),
        });
        expectSameImage(confidences[1], confidences[0], width, `seed ${random.seed}, ${method}, confidence`);
        expectSameImage(got, expected, width, `seed ${random.seed}, ${method}, one hole in ${oneHoleIn}`);
      }
    }
  });
});

describe("fill: bad calls", () => {
  test("an unknown method is refused with the known ones", () => {
    expect(() => fill("scalar", Int16Array.of(1), { width: 1, height: 1, method: "magic" })).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining("background") }),
    );
  });
});
