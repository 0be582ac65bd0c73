// SPDX-License-Identifier: Apache-2.0
// Three witnesses for rectification in colours: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectIs, expectSameImage, native, Random, variants } from "../doubles/stages.js";

interface Call {
  format: string;
  inputWidth: number;
  inputHeight: number;
  strideBytes: number;
  image: Uint8Array;
  width: number;
  height: number;
  map?: Int32Array;
  blackLevel?: number;
  /** Copies the image next to memory that may not be touched: a load next to it ends the process. */
  edge?: "start" | "end";
}

const stage = native.stages.rectify as unknown as (call: object) => string;
const MOSAICS = ["RGGB", "GRBG", "GBRG", "BGGR"].flatMap((order) =>
  ["8", "10", "12", "16", "10P", "12P"].map((bits) => `BAYER_${order}${bits}`),
);
const FORMATS = ["RGB8", "YUYV", "UYVY", "NV12", ...MOSAICS];
const sampleBytes = (format: string) =>
  format.endsWith("10P")
    ? 1.25
    : format.endsWith("12P")
      ? 1.5
      : format === "RGB8"
        ? 3
        : /[RBG]8|NV12/.test(format)
          ? 1
          : 2;
/** Rows of memory: NV12 has those of its chroma behind those of its luma. */
const memoryRows = (format: string, height: number) =>
  height + (format === "NV12" ? Math.ceil(height / 2) : 0);
/** Bytes of the last row in memory. */
const lastRowBytes = (format: string, width: number) =>
  format === "NV12"
    ? 2 * Math.ceil(width / 2)
    : // A row of a packed format ends with a whole group of samples.
      Math.ceil(width / packedGroup(format)) * packedGroup(format) * sampleBytes(format);
const packedGroup = (format: string) => (format.endsWith("10P") ? 4 : format.endsWith("12P") ? 2 : 1);

function colours(variant: string, call: Call): Uint8Array {
  const bytes = 3 * call.width * call.height;
  const rgb = new Uint8Array(bytes + 64).fill(0xa5);
  expectIs(stage({ ...call, variant, rgb }), variant, "the form that ran");
  const isUntouched = rgb.subarray(bytes).every((byte) => byte === 0xa5);
  expectIs(isUntouched, true, "nothing is written behind the image");
  return rgb.subarray(0, bytes);
}

/** Colours and grey of one call. */
function withGrey(variant: string, call: Call): [rgb: Uint8Array, grey: Uint8Array] {
  const pixels = call.width * call.height;
  const [rgb, grey] = [new Uint8Array(3 * pixels), new Uint8Array(pixels + 64).fill(0xa5)];
  expectIs(stage({ ...call, variant, rgb, grey }), variant, "the form that ran");
  const isUntouched = grey.subarray(pixels).every((byte) => byte === 0xa5);
  expectIs(isUntouched, true, "nothing is written behind the grey image");
  return [rgb, grey.subarray(0, pixels)];
}

/** Without a map. */
function converted(variant: string, format: string, width: number, height: number, image: readonly number[]) {
  const size = {
    width,
    height,
    inputWidth: width,
    inputHeight: height,
    strideBytes: lastRowBytes(format, width),
  };
  return [...colours(variant, { format, ...size, image: Uint8Array.from(image) })];
}

const forms = ["reference", ...variants];

describe.each(forms)("colours, %s: by hand", (variant) => {
  test("4:2:2: BT.601 with luma of full range, clamped; two pixels share their chroma", () => {
    // U = 90, V = 200: red + (359 * 72 + 128) >> 8 = 101, green - 38, blue - 67.
    expect(converted(variant, "YUYV", 2, 1, [100, 90, 120, 200])).toEqual([201, 62, 33, 221, 82, 53]);
    expect(converted(variant, "UYVY", 2, 1, [90, 100, 200, 120])).toEqual([201, 62, 33, 221, 82, 53]);
    expect(converted(variant, "YUYV", 2, 1, [250, 90, 10, 200])).toEqual([255, 212, 183, 111, 0, 0]);
  });

  test("4:2:2 of an odd width: the last pixel takes the chroma before it; one column has none", () => {
    expect(converted(variant, "YUYV", 3, 1, [100, 90, 120, 200, 10, 77]).slice(6)).toEqual([111, 0, 0]);
    expect(converted(variant, "UYVY", 3, 1, [90, 100, 200, 120, 77, 10]).slice(6)).toEqual([111, 0, 0]);
    expect(converted(variant, "YUYV", 1, 1, [100, 3])).toEqual([100, 100, 100]);
  });

  test("NV12: two by two pixels share their chroma; the last column and row of odd sizes have their own", () => {
    // As above: U = 90, V = 200 adds 101, -38, -67; U = V = 128 adds nothing.
    const [luma, chroma] = [
      [100, 120, 10, 0, 110, 250, 20, 0, 50, 60, 70, 0],
      [90, 200, 128, 128, 128, 128, 90, 200],
    ];
    const rgb = converted(variant, "NV12", 3, 3, [...luma, ...chroma]);
    expect(rgb.slice(0, 9)).toEqual([201, 62, 33, 221, 82, 53, 10, 10, 10]);
    expect(rgb.slice(9, 18)).toEqual([211, 72, 43, 255, 212, 183, 20, 20, 20]);
    expect(rgb.slice(18)).toEqual([50, 50, 50, 60, 60, 60, 171, 32, 3]);
  });

  test("a mosaic is interpolated between its own colours, mirrored at the border", () => {
    const expected = [100, 50, 20, 100, 60, 20, 100, 40, 20, 100, 50, 20];
    expect(converted(variant, "BAYER_RGGB8", 2, 2, [100, 60, 40, 20])).toEqual(expected);
    const words = [100, 60, 40, 20].flatMap((value) => [(value << 2) & 255, value >> 6]);
    expect(converted(variant, "BAYER_RGGB10", 2, 2, words)).toEqual(expected);
  });
});

describe.each(forms)("colours, %s: properties", (variant) => {
  test.each(["YUYV", "UYVY"])("%s without chroma is its grey three times", (format) => {
    const random = new Random();
    const [width, height] = [19, 5];
    const image = random.fill(new Uint8Array(2 * width * height), 0, 255);
    for (let i = format === "YUYV" ? 1 : 0; i < image.length; i += 2) image[i] = 128;
    const size = { width, height, inputWidth: width, inputHeight: height, strideBytes: 2 * width };
    const grey = new Uint8Array(width * height);
    stage({ variant, format, ...size, image, grey });
    const tripled = Uint8Array.from({ length: 3 * grey.length }, (_, i) => grey[Math.trunc(i / 3)]!);
    expectSameImage(colours(variant, { format, ...size, image }), tripled, 3 * width, `seed ${random.seed}`);
  });

  test("the black level is subtracted from each colour and from grey, down to 0", () => {
    const [width, height] = [7, 1];
    const image = Uint8Array.from({ length: 21 }, (_, i) => 10 * i);
    const size = { width, height, inputWidth: width, inputHeight: height, strideBytes: 21 };
    const call = { format: "RGB8", ...size, image };
    const [rgb, grey] = withGrey(variant, call);
    const [darker, darkerGrey] = withGrey(variant, { ...call, blackLevel: 45 });
    expect([...darker]).toEqual([...rgb].map((value) => Math.max(0, value - 45)));
    expect([...darkerGrey]).toEqual([...grey].map((value) => Math.max(0, value - 45)));
  });

  test.each(["RGGB", "GRBG", "GBRG", "BGGR"])("%s of one colour is that colour everywhere", (order) => {
    const [width, height] = [7, 6];
    const sample = { R: 200, G: 90, B: 30 };
    const image = Array.from({ length: width * height }, (_, p) => {
      const [x, y] = [p % width, Math.trunc(p / width)];
      return sample[order[2 * (y % 2) + (x % 2)] as "R" | "G" | "B"];
    });
    const rgb = converted(variant, `BAYER_${order}8`, width, height, image);
    expect(rgb).toEqual(Array.from({ length: rgb.length }, (_, i) => [200, 90, 30][i % 3]));
  });
});

describe("colours: every form is the reference's twin", () => {
  function expectTwins(call: Call, what: string): void {
    const expected = colours("reference", call);
    const expectedGrey = new Uint8Array(call.width * call.height);
    stage({ ...call, variant: "reference", grey: expectedGrey });
    for (const variant of variants) {
      for (const edge of ["start", "end"] as const) {
        const guarded = { ...call, edge };
        expectSameImage(colours(variant, guarded), expected, 3 * call.width, `${variant}, ${what}`);
        const [rgb, grey] = withGrey(variant, guarded);
        expectSameImage(rgb, expected, 3 * call.width, `${variant}, ${what}, with grey`);
        expectSameImage(grey, expectedGrey, call.width, `${variant}, ${what}, its grey`);
      }
    }
  }

  function randomImage(random: Random, format: string, width: number, height: number, gap: number) {
    const strideBytes = lastRowBytes(format, width) + gap;
    const bytes = strideBytes * (memoryRows(format, height) - 1) + lastRowBytes(format, width);
    const image = random.fill(new Uint8Array(bytes), 0, 255);
    return { format, inputWidth: width, inputHeight: height, strideBytes, image };
  }

  test.each(FORMATS)("%s: any size and map, and not a byte next to the image", (format) => {
    const random = new Random();
    for (const width of [...AWKWARD_WIDTHS, 1, 2, 3, 4, 5, 6, 7]) {
      const [inputWidth, inputHeight] = [
        random.pick([1, 2, 3, 4, 5, random.whole(6, 70)]),
        random.whole(1, 12),
      ];
      const height = random.whole(1, 9);
      const call = randomImage(random, format, inputWidth, inputHeight, random.whole(0, 3));
      const map = Int32Array.from({ length: 2 * width * height }, (_, i) =>
        random.whole(-70, 32 * (i % 2 === 0 ? inputWidth : inputHeight) + 70),
      );
      const what = `seed ${random.seed}, ${format}, ${inputWidth}x${inputHeight} to ${width}x${height}`;
      expectTwins({ ...call, width, height, map }, what);
      expectTwins({ ...call, width: inputWidth, height: inputHeight }, `${what}, no map`);
    }
  });

  const [width, height] = [197, 119];
  const lens = Int32Array.from({ length: 2 * width * height }, (_, i) => {
    const [x, y] = [(i >> 1) % width, Math.trunc((i >> 1) / width)];
    const bend = 1 + 2e-6 * ((x - 98) ** 2 + (y - 60) ** 2);
    const place = i % 2 === 0 ? 106 + (x - 98) * bend : 60 + (y - 60) * bend + 0.02 * (x - 98);
    return Math.floor(32 * place);
  });

  test.each(FORMATS)("%s: through a lens, where neighbours come from neighbouring places", (format) => {
    const random = new Random();
    const call = { ...randomImage(random, format, 213, 121, 0), width, height, map: lens };
    expectTwins(call, `seed ${random.seed}`);
    expectTwins({ ...call, blackLevel: 40 }, `seed ${random.seed}, black level`);
  });
});
