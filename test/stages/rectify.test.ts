// SPDX-License-Identifier: Apache-2.0
// Three witnesses for rectification: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import type { PixelFormat } from "../../camera/index.js";
import { hasColours } from "../../core/index.js";
import { AWKWARD_WIDTHS, expectIs, expectSameImage, native, Random, variants } from "../doubles/stages.js";

interface Call {
  format: PixelFormat;
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

const stage = native.stages.rectify as unknown as (
  call: Call & { variant: string; grey: Uint8Array },
) => string;

const GUARD = 0xa5;

function rectify(variant: string, call: Call): Uint8Array {
  const grey = new Uint8Array(call.width * call.height + 64).fill(GUARD);
  expectIs(stage({ ...call, variant, grey }), variant, "the form that ran");
  const pixels = call.width * call.height;
  const isUntouched = grey.subarray(pixels).every((byte) => byte === GUARD);
  expectIs(isUntouched, true, "nothing is written behind the image");
  return grey.subarray(0, pixels);
}

const MOSAICS = ["RGGB", "GRBG", "GBRG", "BGGR"] as const;
const BYTES = {
  GREY: 1,
  NV12: 1,
  Y10: 2,
  Y12: 2,
  Y16: 2,
  Y8I_LEFT: 2,
  Y8I_RIGHT: 2,
  Y10P: 1.25,
  Y12P: 1.5,
  Y12I_LEFT: 3,
  Y12I_RIGHT: 3,
  YUYV: 2,
  UYVY: 2,
  ...Object.fromEntries(
    MOSAICS.flatMap((order) =>
      Object.entries({ 8: 1, 10: 2, 12: 2, 16: 2, "10P": 1.25, "12P": 1.5 }).map(([bits, bytes]) => [
        `BAYER_${order}${bits}`,
        bytes,
      ]),
    ),
  ),
} as Record<PixelFormat, number>;
const FORMATS = Object.keys(BYTES) as PixelFormat[];
const BAYER8 = FORMATS.filter((format) => /^BAYER_....8$/.test(format));
const BAYER_DEEP = FORMATS.filter((format) => /^BAYER_....1[026]$/.test(format));

const BAYER_PACKED = FORMATS.filter((format) => /^BAYER_....1[02]P$/.test(format));

/** Rows of packed formats end with a whole group. */
function rowBytes(width: number, format: PixelFormat): number {
  const group = format.endsWith("10P") ? 4 : format.endsWith("12P") ? 2 : 1;
  return Math.ceil(width / group) * group * BYTES[format];
}

const convert = (
  format: PixelFormat,
  width: number,
  height: number,
  image: Uint8Array,
  strideBytes?: number,
): Call => ({
  format,
  inputWidth: width,
  inputHeight: height,
  strideBytes: strideBytes ?? rowBytes(width, format),
  image,
  width,
  height,
});

function createMap(
  width: number,
  height: number,
  place: (x: number, y: number) => [number, number],
): Int32Array {
  const map = new Int32Array(2 * width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) map.set(place(x, y), 2 * (y * width + x));
  }
  return map;
}

const forms = ["reference", ...variants];

describe.each(forms)("rectify, %s: by hand", (variant) => {
  const words = (...values: number[]): Uint8Array =>
    Uint8Array.from(values.flatMap((v) => [v & 255, v >> 8]));

  test.each([
    ["GREY", Uint8Array.of(1, 2, 254, 255), [1, 2, 254, 255]],
    ["NV12", Uint8Array.of(1, 2, 254, 255), [1, 2, 254, 255]],
    ["Y10", words(0, 3, 4, 1023), [0, 0, 1, 255]],
    ["Y10", words(0xfc00, 1022, 512, 0xffff), [0, 255, 128, 255]],
    ["Y12", words(15, 16, 2048, 4095), [0, 1, 128, 255]],
    ["Y16", words(255, 256, 0x8000, 65535), [0, 1, 128, 255]],
    ["YUYV", Uint8Array.of(7, 200, 8, 201, 250, 1, 251, 2), [7, 8, 250, 251]],
    ["Y8I_LEFT", Uint8Array.of(7, 200, 8, 201, 250, 1, 251, 2), [7, 8, 250, 251]],
    ["Y8I_RIGHT", Uint8Array.of(200, 7, 201, 8, 1, 250, 2, 251), [7, 8, 250, 251]],
    ["UYVY", Uint8Array.of(200, 7, 201, 8, 1, 250, 2, 251), [7, 8, 250, 251]],
    ["Y10P", Uint8Array.of(7, 8, 250, 251, 99), [7, 8, 250, 251]],
    ["Y12P", Uint8Array.of(7, 8, 99, 250, 251, 99), [7, 8, 250, 251]],
    // Three bytes a pixel: the left image in bits 0 to 11, the right one in bits 12 to 23.
    [
      "Y12I_LEFT",
      Uint8Array.of(0x7f, 0x10, 9, 0x8f, 0x20, 9, 0xa1, 0x3f, 9, 0xb2, 0x4f, 9),
      [7, 8, 250, 251],
    ],
    ["Y12I_RIGHT", Uint8Array.of(1, 0xf9, 7, 1, 0x19, 8, 1, 9, 250, 1, 9, 251), [7, 8, 250, 251]],
  ] as const)("%s to grey", (format, image, expected) => {
    expect([...rectify(variant, convert(format, 4, 1, image))]).toEqual(expected);
    // Repeated until every set's widest vector is filled, and one pixel over.
    const many = Uint8Array.from({ length: 33 * image.length }, (_, i) => image[i % image.length]!);
    const grey = rectify(variant, convert(format, 132, 1, many));
    for (const [i, value] of grey.entries()) expectIs(value, expected[i % 4], `pixel ${i}`);
  });

  test("Bayer: each of the four sites of a mosaic of one colour", () => {
    // R = 200, G = 100, B = 40 everywhere: luma (77 * 200 + 150 * 100 + 29 * 40) / 256 = 123.28, rounded 123.
    const colours: Record<string, number> = { R: 200, G: 100, B: 40 };
    for (const format of BAYER8) {
      const tile = format.slice(6, 10);
      const image = Uint8Array.from({ length: 80 * 6 }, (_, i) => {
        const [x, y] = [i % 80, Math.floor(i / 80)];
        return colours[tile[2 * (y & 1) + (x & 1)]!]!;
      });
      expect(new Set(rectify(variant, convert(format, 80, 6, image))), format).toEqual(new Set([123]));
    }
  });

  test("Bayer: one lit pixel, worked out", () => {
    // RGGB, 5 x 5, only the red pixel (2, 2) is 200. Itself: 77 * 800 / 1024 = 60.16 -> 60. Next to it, on green next to red:
    // half the red: 77 * 400 / 1024 = 30.08 -> 30; above it the same. On blue, at the corner: a quarter: 15.04 -> 15.
    const image = new Uint8Array(25);
    image[12] = 200;
    // biome-ignore format: an image
    expect([...rectify(variant, convert("BAYER_RGGB8", 5, 5, image))]).toEqual([
      0, 0, 0, 0, 0,
      0, 15, 30, 15, 0,
      0, 30, 60, 30, 0,
      0, 15, 30, 15, 0,
      0, 0, 0, 0, 0,
    ]);
    // The same light on a green pixel next to red, (3, 2): itself 150 * 800 / 1024 = 117.19 -> 117; its four neighbours, red
    // and blue sites, a quarter of green: 29.30 -> 29; the corners are green themselves and do not see it.
    // The one in the last column meets it on both sides, because the mosaic is mirrored there: 58.59 -> 59.
    image[12] = 0;
    image[13] = 200;
    // biome-ignore format: an image
    expect([...rectify(variant, convert("BAYER_RGGB8", 5, 5, image))]).toEqual([
      0, 0, 0, 0, 0,
      0, 0, 0, 29, 0,
      0, 0, 29, 117, 59,
      0, 0, 0, 29, 0,
      0, 0, 0, 0, 0,
    ]);
  });

  test("the black level is subtracted last, down to 0", () => {
    const image = Uint8Array.of(0, 15, 16, 17, 255);
    const call = { ...convert("GREY", 5, 1, image), blackLevel: 16 };
    expect([...rectify(variant, call)]).toEqual([0, 0, 0, 1, 239]);
    // Half-way between 17 and 255: 136, then 120. Subtracting it from the samples gives the same: (1 + 239) / 2.
    const map = Int32Array.of(32 * 3 + 16, 0);
    expect([...rectify(variant, { ...call, width: 1, map })]).toEqual([120]);
    const lit = new Uint8Array(25);
    lit[12] = 200;
    const mosaic = { ...convert("BAYER_RGGB8", 5, 5, lit), blackLevel: 16 };
    expect([...rectify(variant, mosaic)].slice(5, 15)).toEqual([0, 0, 14, 0, 0, 0, 14, 44, 14, 0]);
  });

  test("Bayer of 10, 12 and 16 bits uses its eight highest bits, independent of the other bits", () => {
    const random = new Random();
    expect(BAYER_DEEP).toHaveLength(12);
    const [width, height] = [77, 9];
    for (const format of BAYER_DEEP) {
      const bits = Number(format.slice(10));
      const high = random.fill(new Uint8Array(width * height), 0, 255);
      const image = new Uint8Array(2 * width * height);
      for (const [i, value] of high.entries()) {
        const below = random.whole(0, (1 << (bits - 8)) - 1);
        const above = random.whole(0, 65535 >> bits);
        const word = (above << bits) | (value << (bits - 8)) | below;
        image.set([word & 255, word >> 8], 2 * i);
      }
      const eight = `${format.slice(0, 10)}8` as PixelFormat;
      const expected = rectify("reference", convert(eight, width, height, high));
      expectSameImage(
        rectify(variant, convert(format, width, height, image)),
        expected,
        width,
        `${format}, seed ${random.seed}`,
      );
    }
  });

  test("packed Bayer is the mosaic of its high bytes, independent of the bytes of low bits", () => {
    const random = new Random();
    expect(BAYER_PACKED).toHaveLength(8);
    const [width, height] = [76, 9];
    for (const format of BAYER_PACKED) {
      const group = format.endsWith("10P") ? 4 : 2;
      const high = random.fill(new Uint8Array(width * height), 0, 255);
      const image = Uint8Array.from({ length: rowBytes(width, format) * height }, (_, i) => {
        const place = i % (group + 1);
        return place === group ? random.whole(0, 255) : high[Math.floor(i / (group + 1)) * group + place]!;
      });
      const eight = format.replace(/1.P$/, "8") as PixelFormat;
      for (const map of [undefined, createMap(width, height, (x, y) => [31 * x + 9, 33 * y - 5])]) {
        const shared = map === undefined ? {} : { map };
        expectSameImage(
          rectify(variant, { ...convert(format, width, height, image), ...shared }),
          rectify("reference", { ...convert(eight, width, height, high), ...shared }),
          width,
          `${format}, seed ${random.seed}`,
        );
      }
    }
  });

  test("Bayer: the border mirrors the mosaic, so that a colour stands for itself", () => {
    // RGGB with red 255 and nothing else. At (0, 0) all is red's own: 77 * 1020 / 1024 = 76.70 -> 77. At (1, 0), green next to
    // red: the red ones left and right are (0, 0) and (2, 0): 77 too. At (1, 1), blue: corners all red: 77.
    const image = Uint8Array.from({ length: 36 }, (_, i) =>
      (((i % 6) | Math.floor(i / 6)) & 1) === 0 ? 255 : 0,
    );
    const grey = rectify(variant, convert("BAYER_RGGB8", 6, 6, image));
    expect([grey[0], grey[1], grey[6], grey[7], grey[35]]).toEqual([77, 77, 77, 77, 77]);
  });

  test("bilinear weights and their rounding", () => {
    const image = Uint8Array.of(0, 100, 200, 40);
    const at = (x: number, y: number): number => {
      const call = { ...convert("GREY", 2, 2, image), width: 1, height: 1, map: Int32Array.of(x, y) };
      return rectify(variant, call)[0]!;
    };
    expect(at(0, 0)).toBe(0);
    expect(at(16, 0)).toBe(50);
    expect(at(0, 16)).toBe(100);
    expect(at(16, 16)).toBe(85);
    // (24 * 8 * 0 + 8 * 8 * 100 + 24 * 24 * 200 + 8 * 24 * 40) / 1024 = 126.25
    expect(at(8, 24)).toBe(126);
    // (31 * 31 * 0 + 31 * 100 + 31 * 200 + 40) / 1024 = 9.12
    expect(at(1, 1)).toBe(9);
    // A half goes up: 16 of 32 between 0 and 1.
    const step = {
      ...convert("GREY", 2, 1, Uint8Array.of(0, 1)),
      width: 2,
      height: 1,
      map: Int32Array.of(16, 0, 15, 0),
    };
    expect([...rectify(variant, step)]).toEqual([1, 0]);
  });

  test("outside the image the border is replicated", () => {
    const image = Uint8Array.of(10, 20, 30, 40);
    const places = [-1, -33, -(1 << 30), 64, 33, 1 << 30];
    const map = Int32Array.from(places.flatMap((x) => [x, 0]));
    const call = { ...convert("GREY", 2, 2, image), width: places.length, height: 1, map };
    expect([...rectify(variant, call)]).toEqual([10, 10, 10, 20, 20, 20]);
    const down = { ...call, map: Int32Array.from(places.flatMap((y) => [16, y])) };
    expect([...rectify(variant, down)]).toEqual([15, 15, 15, 35, 35, 35]);
  });
});

describe.each(forms)("rectify, %s: properties", (variant) => {
  test.each(FORMATS)("%s: the identity map is the conversion, odd sizes and strides", (format) => {
    const random = new Random();
    for (const [width, height] of [
      [1, 1],
      [2, 1],
      [1, 7],
      [3, 3],
      [17, 5],
      [66, 9],
      [131, 6],
    ] as const) {
      const strideBytes = rowBytes(width, format) + random.whole(0, 7);
      const image = random.fill(new Uint8Array((height - 1) * strideBytes + rowBytes(width, format)), 0, 255);
      const call = convert(format, width, height, image, strideBytes);
      const map = createMap(width, height, (x, y) => [32 * x, 32 * y]);
      const what = `${width} x ${height}, seed ${random.seed}`;
      expectSameImage(rectify(variant, { ...call, map }), rectify(variant, call), width, what);
    }
  });

  test.each(FORMATS)("%s: a map of whole pixels moves the image and changes no value", (format) => {
    const random = new Random();
    const [width, height, dx, dy] = [101, 23, 5, -3];
    const image = random.fill(new Uint8Array(rowBytes(width, format) * height), 0, 255);
    const call = convert(format, width, height, image);
    const grey = rectify(variant, call);
    const moved = rectify(variant, {
      ...call,
      map: createMap(width, height, (x, y) => [32 * (x + dx), 32 * (y + dy)]),
    });
    const clamp = (i: number, n: number): number => Math.min(Math.max(i, 0), n - 1);
    const expected = grey.map((_, i) => {
      const [x, y] = [(i % width) + dx, Math.floor(i / width) + dy];
      return grey[clamp(y, height) * width + clamp(x, width)]!;
    });
    expectSameImage(moved, expected, width, `seed ${random.seed}`);
  });

  test("a flat image stays flat under any map, and the answer never leaves the range of its four pixels", () => {
    const random = new Random();
    const [width, height] = [71, 33];
    const map = random.fill(new Int32Array(2 * width * height), -500, 3000);
    for (const value of [0, 1, 127, 255]) {
      const call = { ...convert("GREY", width, height, new Uint8Array(width * height).fill(value)), map };
      expect(new Set(rectify(variant, call))).toEqual(new Set([value]));
    }
    const call = {
      ...convert("GREY", width, height, random.fill(new Uint8Array(width * height), 90, 140)),
      map,
    };
    expect(rectify(variant, call).every((value) => value >= 90 && value <= 140)).toBe(true);
  });

  test.each(FORMATS)("%s: the black level of any image is that of its grey", (format) => {
    const random = new Random();
    const [width, height, blackLevel] = [67, 9, random.whole(1, 255)];
    const image = random.fill(new Uint8Array(rowBytes(width, format) * height), 0, 255);
    for (const map of [undefined, createMap(width, height, (x, y) => [33 * x - 9, 31 * y + 7])]) {
      const call = { ...convert(format, width, height, image), ...(map && { map }) };
      const expected = rectify(variant, call).map((grey) => Math.max(0, grey - blackLevel));
      expectSameImage(rectify(variant, { ...call, blackLevel }), expected, width, `seed ${random.seed}`);
    }
  });

  test("mirroring image and map mirrors the result", () => {
    const random = new Random();
    const [width, height] = [67, 19];
    const image = random.fill(new Uint8Array(width * height), 0, 255);
    const map = createMap(width, height, () => [
      random.whole(-40, 32 * width),
      random.whole(-40, 32 * height),
    ]);
    const mirror = <T extends Uint8Array>(from: T): Uint8Array =>
      from.map((_, i) => from[Math.floor(i / width) * width + width - 1 - (i % width)]!);
    const mirroredMap = createMap(width, height, (x, y) => {
      const at = 2 * (y * width + width - 1 - x);
      return [32 * (width - 1) - map[at]!, map[at + 1]!];
    });
    const plain = rectify(variant, { ...convert("GREY", width, height, image), map });
    const turned = rectify(variant, { ...convert("GREY", width, height, mirror(image)), map: mirroredMap });
    expectSameImage(mirror(turned), plain, width, `seed ${random.seed}`);
  });
});

describe("rectify: every form is the reference's twin", () => {
  function expectTwins(call: Call, what: string): void {
    const expected = rectify("reference", call);
    for (const variant of variants)
      expectSameImage(rectify(variant, call), expected, call.width, `${variant}, ${what}`);
  }

  test.each(FORMATS)("%s: every size from 1 to 67, packed and strided, converted and remapped", (format) => {
    const random = new Random();
    for (let width = 1; width <= 67; ++width) {
      const height = random.whole(1, 9);
      const strideBytes = rowBytes(width, format) + random.pick([0, 0, 1, 5, 64]);
      const image = random.fill(new Uint8Array((height - 1) * strideBytes + rowBytes(width, format)), 0, 255);
      const call = convert(format, width, height, image, strideBytes);
      const what = `${width} x ${height}, stride ${strideBytes}, seed ${random.seed}`;
      expectTwins(call, `${what}, converted`);
      const out = { width: random.pick(AWKWARD_WIDTHS), height: random.whole(1, 7) };
      const wild = createMap(out.width, out.height, () => [
        random.whole(-90, 32 * width + 90),
        random.whole(-90, 32 * height + 90),
      ]);
      expectTwins({ ...call, ...out, map: wild }, `${what}, anywhere`);
    }
  });

  const lens = createMap(197, 119, (x, y) => {
    const [dx, dy] = [x - 98, y - 60];
    const bend = 1 + 2e-6 * (dx * dx + dy * dy);
    return [Math.floor(32 * (106 + dx * bend)), Math.floor(32 * (60 + dy * bend + 0.02 * dx))];
  });

  test.each(FORMATS)("%s: a lens-like map over a larger image, saturated and random", (format) => {
    const random = new Random();
    const [width, height] = [213, 121];
    for (const [low, high] of [
      [0, 255],
      [255, 255],
      [0, 1],
    ] as const) {
      const image = random.fill(new Uint8Array(rowBytes(width, format) * height), low, high);
      const call = { ...convert(format, width, height, image), width: 197, height: 119, map: lens };
      expectTwins(call, `values ${low} to ${high}, seed ${random.seed}`);
    }
  });
});

describe("rectify: memory", () => {
  test.each(FORMATS)("%s: not a byte next to the image is read", (format) => {
    const random = new Random();
    for (const [width, height] of [
      [1, 1],
      [2, 2],
      [3, 5],
      [4, 4],
      [33, 3],
      [64, 8],
      [131, 7],
    ] as const) {
      const strideBytes = rowBytes(width, format) + random.pick([0, 3]);
      const image = random.fill(new Uint8Array((height - 1) * strideBytes + rowBytes(width, format)), 0, 255);
      const converted = convert(format, width, height, image, strideBytes);
      // Every source pixel and the places half-way, and one pixel around: the corners are where a load goes too far.
      const size = { width: 2 * width + 3, height: 2 * height + 3 };
      const map = createMap(size.width, size.height, (x, y) => [16 * (x - 1), 16 * (y - 1)]);
      for (const call of [converted, { ...converted, ...size, map }]) {
        const expected = rectify("reference", call);
        for (const variant of variants) {
          for (const edge of ["start", "end"] as const) {
            const what = `${variant}, ${width} x ${height}, ${edge}`;
            expectSameImage(rectify(variant, { ...call, edge }), expected, call.width, what);
          }
        }
      }
    }
  });
});

describe("rectify: the bytes that are read of an image", () => {
  const refusal = (call: object) => {
    try {
      stage({ variant: "reference", ...call } as never);
      return "none";
    } catch (error) {
      return (error as Error).message;
    }
  };

  test.each<PixelFormat>([...FORMATS, "RGB8", "GREY_DISPARITY"])(
    "%s: every row but the last has a whole stride",
    (format) => {
      for (const colours of hasColours(format) ? [false, true] : [false]) {
        for (let width = 1; width <= 9; ++width) {
          const row =
            format === "RGB8" ? 3 * width : format === "GREY_DISPARITY" ? width : rowBytes(width, format);
          // Chroma of NV12: U and V of every second column, in half as many rows, rounded up.
          const [last, rows] =
            colours && format === "NV12"
              ? [2 * Math.ceil(width / 2), (height: number) => height + Math.ceil(height / 2)]
              : [row, (height: number) => height];
          for (const height of [1, 2, 3]) {
            for (const strideBytes of format === "GREY_DISPARITY" ? [last] : [last, last + 3]) {
              const bytes =
                format === "GREY_DISPARITY" ? 4 * width * height : (rows(height) - 1) * strideBytes + last;
              const result = colours
                ? { rgb: new Uint8Array(3 * width * height) }
                : { grey: new Uint8Array(width * height) };
              const image = new Uint8Array(bytes);
              const call = { ...convert(format, width, height, image, strideBytes), ...result };
              const what = `${width} x ${height}, stride ${strideBytes}, colours ${colours}`;
              expectIs(refusal(call), "none", what);
              const missing = `Expected at least ${bytes} bytes for image, got ${bytes - 1}.`;
              expectIs(refusal({ ...call, image: image.subarray(1) }), missing, what);
            }
            const call = convert(format, width, height, new Uint8Array(999), last - 1);
            const result = colours ? { rgb: new Uint8Array(999) } : { grey: new Uint8Array(999) };
            const short = `Expected a row stride that holds ${width} pixels, got ${last - 1} bytes.`;
            if (last > 1) expectIs(refusal({ ...call, ...result }), short, `${width} x ${height}`);
          }
        }
      }
    },
  );

  const stride = (width: number, bytes: number) =>
    `Expected a row stride that holds ${width} pixels, got ${bytes} bytes.`;
  const memory = (bytes: number) => `Expected at least ${bytes} bytes for image, got 8.`;
  test.each<[PixelFormat, number, number, number, string]>([
    // 128 (2^24 - 1) + 127 = 2^31 - 1.
    ["GREY", 127, 129, 2 ** 24 - 1, memory(2 ** 31 - 1)],
    ["GREY", 128, 129, 2 ** 24 - 1, stride(128, 2 ** 24 - 1)],
    ["GREY_DISPARITY", 32_767, 16_384, 32_767, memory(4 * 32_767 * 16_384)],
    ["GREY_DISPARITY", 32_768, 16_384, 32_768, stride(32_768, 32_768)],
    ["GREY_DISPARITY", 7, 2, 8, stride(7, 8)],
  ])(
    "%s of %i x %i with a stride of %i is below 2^31 bytes, or refused",
    (format, width, height, bytes, message) => {
      const call = convert(format, width, height, new Uint8Array(8), bytes);
      expect(refusal({ ...call, grey: new Uint8Array(8) })).toBe(message);
    },
  );
});

describe("rectify: bad calls", () => {
  const image = new Uint8Array(64);
  const good = convert("GREY", 8, 8, image);

  test.each([
    ["an unknown format", { format: "RGB3" }, /RGB3/],
    ["a stride shorter than a row", { strideBytes: 7 }, /8 pixels/],
    ["a stride of bytes where the row takes two each", { format: "YUYV" }, /8 pixels/],
    ["an image that is too small", { inputHeight: 9, height: 9 }, /72/],
    ["a result of another size without a map", { width: 4 }, /8x8/],
    ["a map that is too short", { map: new Int32Array(127) }, /512/],
  ])("%s", (_name, change, message) => {
    expect(() => rectify("reference", { ...good, ...(change as object) })).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringMatching(message) }),
    );
  });
});
