// SPDX-License-Identifier: Apache-2.0
// Three witnesses for rectification in colours: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/rooms.js";

interface Call {
  format: string;
  inputWidth: number;
  inputHeight: number;
  strideBytes: number;
  image: Uint8Array;
  width: number;
  height: number;
  map?: Int32Array;
}

const room = native.rooms.rectify as unknown as (call: object) => string;
const MOSAICS = ["RGGB", "GRBG", "GBRG", "BGGR"].flatMap((order) =>
  [8, 10, 12, 16].map((bits) => `BAYER_${order}${bits}`),
);
const FORMATS = ["RGB8", "YUYV", "UYVY", ...MOSAICS];
const bytesOf = (format: string) => (format === "RGB8" ? 3 : /R8|B8|G8/.test(format) ? 1 : 2);

function colours(variant: string, call: Call): Uint8Array {
  const rgb = new Uint8Array(3 * call.width * call.height);
  expect(room({ ...call, variant, rgb })).toBe(variant);
  return rgb;
}

/** Without a map. */
function converted(variant: string, format: string, width: number, height: number, image: readonly number[]) {
  const size = {
    width,
    height,
    inputWidth: width,
    inputHeight: height,
    strideBytes: width * bytesOf(format),
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
    room({ variant, format, ...size, image, grey });
    const tripled = Uint8Array.from({ length: 3 * grey.length }, (_, i) => grey[Math.trunc(i / 3)]!);
    expectSameImage(colours(variant, { format, ...size, image }), tripled, 3 * width, `seed ${random.seed}`);
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

describe.each(variants)("colours, %s: twin of the reference", (variant) => {
  test.each(FORMATS)("%s: any size and map", (format) => {
    const random = new Random();
    for (const width of AWKWARD_WIDTHS) {
      const [inputWidth, inputHeight, height] = [
        random.whole(1, 70),
        random.whole(1, 12),
        random.whole(1, 9),
      ];
      const strideBytes = inputWidth * bytesOf(format) + 2 * random.whole(0, 3);
      const image = random.fill(new Uint8Array(strideBytes * inputHeight), 0, 255);
      const map = Int32Array.from({ length: 2 * width * height }, (_, i) =>
        random.whole(-70, 32 * (i % 2 === 0 ? inputWidth : inputHeight) + 70),
      );
      const call = { format, inputWidth, inputHeight, strideBytes, image };
      const what = `seed ${random.seed}, ${format}, ${inputWidth}x${inputHeight} to ${width}x${height}`;
      const remapped = { ...call, width, height, map };
      expectSameImage(colours(variant, remapped), colours("reference", remapped), 3 * width, what);
      const plain = { ...call, width: inputWidth, height: inputHeight };
      expectSameImage(
        colours(variant, plain),
        colours("reference", plain),
        3 * inputWidth,
        `${what}, no map`,
      );
    }
  });
});
