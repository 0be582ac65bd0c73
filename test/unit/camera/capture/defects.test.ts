// SPDX-License-Identifier: Apache-2.0
// Defective pixels: found in images, read from a file, replaced in place.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CAPTURE_FORMATS, DefectFinder, type PixelFormat, parseDefects } from "../../../../camera/index.js";
import {
  DefectRepair,
  MAX_DEFECTS,
  neighbourDistance,
  readDefects,
} from "../../../../camera/live/defects.js";
import { sampleAt, sampleLayout } from "../../../../camera/live/sample-layout.js";
import { delivered } from "../../../../camera/v4l2/src/pixel-formats.js";
import { measureDefects } from "../../../../edge/commands/capture/command.js";
import { Random } from "../../../doubles/stages.js";

const FORMATS = [
  ...new Set(
    CAPTURE_FORMATS.flatMap((format) => {
      const one = delivered(format, "low", false);
      return /^Y\d+I$/.test(one) ? [`${one}_LEFT`, `${one}_RIGHT`] : [one];
    }),
  ),
  "RGB8",
] as PixelFormat[];
const [WIDTH, HEIGHT] = [40, 12];

function randomImage(format: PixelFormat, random: Random) {
  const strideBytes = 3 * WIDTH + 5;
  const data = random.fill(new Uint8Array(strideBytes * 2 * HEIGHT), 0, 255);
  return { data, width: WIDTH, height: HEIGHT, strideBytes, format, timestampNs: 0n, sequence: 0 };
}
type Image = ReturnType<typeof randomImage>;
const sample = ({ data, strideBytes, format }: Image, x: number, y: number) =>
  sampleAt(data, y * strideBytes, x, sampleLayout(format));
const samples = (image: Image) =>
  Array.from({ length: WIDTH * HEIGHT }, (_, i) => sample(image, i % WIDTH, Math.floor(i / WIDTH)));
const rowOf = (y: number) => Array.from({ length: WIDTH }, (_, x): [number, number] => [x, y]);
const repair = (image: Image, pixels: [number, number][]) =>
  new DefectRepair(pixels, image).apply(image.data);

describe("replaced in place", () => {
  test.each(FORMATS)("%s: by the nearest neighbour of its colour, and no other sample", (format) => {
    const random = new Random();
    const image = randomImage(format, random);
    const before = samples(image);
    const step = neighbourDistance(format);
    expect(step).toBe(format.startsWith("BAYER") ? 2 : 1);
    repair(image, [
      [20, 5],
      [0, 7],
    ]);
    const expected = [...before];
    expected[5 * WIDTH + 20] = before[5 * WIDTH + 20 - step]!;
    expected[7 * WIDTH] = before[7 * WIDTH + step]!;
    expect(samples(image), `seed ${random.seed}`).toEqual(expected);
  });

  test("the other image of an interleaved pair keeps its bits, and chroma stays", () => {
    for (const [format, other] of [
      ["Y12I_LEFT", "Y12I_RIGHT"],
      ["Y12I_RIGHT", "Y12I_LEFT"],
      ["Y8I_LEFT", "Y8I_RIGHT"],
      ["YUYV", "UYVY"],
    ] as const) {
      const image = randomImage(format, new Random());
      const before = samples({ ...image, format: other });
      repair(image, [[20, 5]]);
      expect(samples({ ...image, format: other })).toEqual(before);
    }
  });

  test.each<[string, PixelFormat, [number, number][], [x: number, y: number]]>([
    ["the last column", "GREY", [[39, 3]], [38, 3]],
    ["the last column of a mosaic", "BAYER_GBRG8", [[38, 3]], [36, 3]],
    ["the second column of a mosaic", "BAYER_GBRG8", [[1, 3]], [3, 3]],
    ["a defective row above the last one", "GREY", rowOf(10), [4, 9]],
    ["the defective last row", "GREY", rowOf(11), [4, 10]],
    ["a row below a defective one", "GREY", [...rowOf(1), ...rowOf(2)], [4, 0]],
    ["a defective row of a mosaic", "BAYER_GBRG8", [...rowOf(1), ...rowOf(3)], [4, 5]],
  ])("%s: taken from the nearest working pixel", (_, format, pixels, [x, y]) => {
    const image = randomImage(format, new Random());
    const before = samples(image);
    repair(image, pixels);
    const [column, row] = pixels.find(([at]) => at === 4) ?? pixels[0]!;
    expect(sample(image, column, row)).toBe(before[y * WIDTH + x]);
  });

  test("neighbours that are defective too are passed over, in the end for the column; alone it stays", () => {
    const image = randomImage("GREY", new Random());
    const before = samples(image);
    repair(image, [
      [20, 5],
      [19, 5],
      [21, 5],
    ]);
    expect(sample(image, 20, 5)).toBe(before[5 * WIDTH + 18]);
    const row = Array.from({ length: WIDTH }, (_, x): [number, number] => [x, 0]);
    repair(image, row);
    expect(sample(image, 7, 0)).toBe(before[WIDTH + 7]);
    const single = { ...image, width: 1, height: 1, data: Uint8Array.of(9) };
    repair(single, [[0, 0]]);
    expect(single.data[0]).toBe(9);
  });
});

describe("found", () => {
  /** Noise of a covered lens, and defects. */
  function dark(format: PixelFormat, defects: readonly [number, number][], value: number): Image {
    const random = new Random();
    const image = randomImage(format, random);
    random.fill(image.data, 30, 40);
    for (const [x, y] of defects) {
      const { offset, bytes } = sampleLayout(format);
      image.data[y * image.strideBytes + offset + x * bytes] = value;
    }
    return image;
  }

  test.each(["GREY", "YUYV", "BAYER_RGGB8"] as const)(
    "%s: bright and dark ones, alone, two together, at the border",
    (format) => {
      const bright: [number, number][] = [
        [0, 0],
        [39, 11],
        [20, 6],
        [21, 6],
      ];
      const finder = new DefectFinder();
      for (let i = 0; i < 5; i++) finder.add(dark(format, bright, 90));
      expect(finder.result().toSorted()).toEqual(bright.toSorted());
      const darker = new DefectFinder();
      const two: [number, number][] = [
        [9, 9],
        [10, 9],
      ];
      darker.add(dark(format, [[30, 2], ...two], 2));
      expect(darker.result()).toEqual([[30, 2], ...two]);
    },
  );

  test("24 grey levels beyond the second of its neighbours make a defect, above and below", () => {
    const found = (value: number, neighbour: number) => {
      const image = dark("GREY", [], 0);
      image.data.fill(100);
      image.data[5 * image.strideBytes + 9] = value;
      image.data[6 * image.strideBytes + 9] = neighbour;
      const finder = new DefectFinder();
      finder.add(image);
      return finder.result();
    };
    expect([123, 124, 77, 76].map((value) => found(value, 100).length)).toEqual([0, 1, 0, 1]);
    expect(found(124, 124)).toEqual([
      [9, 5],
      [9, 6],
    ]);
    const size = 65;
    const data = new Uint8Array(4 * size * size);
    const finder = new DefectFinder();
    for (let i = 0; i < MAX_DEFECTS; i++) data[4 * size * Math.floor(i / size) + 2 * (i % size)] = 200;
    const dotted = { ...dark("GREY", [], 0), width: 2 * size, height: 2 * size, strideBytes: 2 * size, data };
    finder.add(dotted);
    expect(finder.result()).toHaveLength(MAX_DEFECTS);
    const more = new DefectFinder();
    data[4 * size * Math.floor(MAX_DEFECTS / size) + 2 * (MAX_DEFECTS % size)] = 200;
    more.add(dotted);
    expect(() => more.result()).toThrow(/at most 4096/);
  });

  test("the first and last columns and rows are neighbours, and nothing beyond them is", () => {
    /** Finds the defects of an image of 3 x 3 pixels: grey levels, row by row. */
    const found = (...levels: number[]) => {
      const finder = new DefectFinder();
      const size = { width: 3, height: 3, strideBytes: 3 };
      finder.add({ ...dark("GREY", [], 0), ...size, data: Uint8Array.from(levels) });
      return finder.result();
    };
    const alone: [number, number][] = [[1, 1]];
    expect(found(9, 9, 9, 9, 200, 9, 9, 9, 9)).toEqual(alone);
    expect(found(99, 99, 99, 99, 2, 99, 99, 99, 99)).toEqual(alone);
    // Two bright neighbours in the first column, the first row, the last column and the last row.
    for (const levels of [
      [200, 9, 9, 200, 200, 9, 9, 9, 9],
      [200, 200, 9, 9, 200, 9, 9, 9, 9],
      [9, 9, 200, 9, 200, 200, 9, 9, 9],
      [9, 9, 9, 9, 200, 9, 9, 200, 200],
    ])
      expect(found(...levels)).not.toContainEqual([1, 1]);
    // Pixels of the next row's first column are far from the last column.
    expect(found(9, 9, 9, 200, 9, 200, 200, 9, 9)).toEqual([
      [0, 1],
      [2, 1],
      [0, 2],
    ]);
    // 24 grey levels above black and below white.
    expect(found(0, 0, 0, 0, 23, 0, 0, 0, 0)).toEqual([]);
    expect(found(0, 0, 0, 0, 24, 0, 0, 0, 0)).toEqual(alone);
    expect(found(255, 255, 255, 255, 232, 255, 255, 255, 255)).toEqual([]);
    expect(found(255, 255, 255, 255, 231, 255, 255, 255, 255)).toEqual(alone);
  });

  test("a pixel that stands out in one image of two is none", () => {
    for (const [x, y] of [
      [5, 5],
      [39, 11],
    ] as const) {
      const finder = new DefectFinder();
      finder.add(dark("GREY", [[x, y]], 200));
      finder.add(dark("GREY", [[x, y]], 2));
      expect(finder.result()).toEqual([]);
    }
  });

  test("a pixel that stands out in some images only is none, and texture is an error", () => {
    const finder = new DefectFinder();
    finder.add(dark("GREY", [[5, 5]], 200));
    finder.add(dark("GREY", [], 0));
    expect(finder.result()).toEqual([]);
    const textured = new DefectFinder();
    const [width, height] = [400, 400];
    const data = Uint8Array.from({ length: width * height }, (_, i) =>
      (i % 3) + (Math.floor(i / width) % 3) === 0 ? 200 : 0,
    );
    textured.add({ ...dark("GREY", [], 0), width, height, strideBytes: width, data });
    expect(() => textured.result()).toThrow(
      expect.objectContaining({ code: "DEVICE_UNSUITABLE", hint: expect.stringMatching(/Cover the lens/) }),
    );
  });

  test("capture skips the first pairs and finds both sides' own", async () => {
    let released = 0;
    const found = await measureDefects(
      {
        start: ({ onPair, onEnd }) => {
          for (let i = 0; i < 6; i++) {
            const left = dark("GREY", i < 2 ? [] : [[3, 3]], 255);
            const right = dark("GREY", [[7, 8]], 0);
            onPair({
              left,
              right,
              clock: "monotonic",
              timestampPoint: "endOfFrame",
              release: () => released++,
            });
          }
          onEnd();
        },
      },
      { frames: 4, skip: 2 },
    );
    expect(found).toEqual({ left: [[3, 3]], right: [[7, 8]] });
    expect(released).toBe(6);
  });
});

describe("the file", () => {
  test("the last pixel of an image is inside it, on either side", () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-defects-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const read = (side: "left" | "right", x: number, y: number) => () => {
      writeFileSync(join(folder, "d.json"), JSON.stringify({ left: [], right: [], [side]: [[x, y]] }));
      return readDefects(join(folder, "d.json"), { width: 640, height: 480 })[side];
    };
    expect(read("right", 639, 479)()).toEqual([[639, 479]]);
    for (const [x, y] of [
      [640, 0],
      [0, 480],
    ] as const) {
      expect(read("left", x, y)).toThrow(`one image of 640x480, got (${x}, ${y})`);
      expect(read("right", x, y)).toThrow(/one image of 640x480/);
    }
  });

  test("a written file is read", () => {
    const pixels = { left: [[3, 4]], right: [] };
    expect(parseDefects(JSON.stringify(pixels), "d.json")).toEqual(pixels);
  });

  test.each([
    ["no JSON", "{", /no JSON/],
    ["one side", '{"left": []}', /a mistake at right/],
    ["a negative place", '{"left": [[-1, 0]], "right": []}', /a mistake at left\.0\.0/],
    ["half a pixel", '{"left": [[0, 0.5]], "right": []}', /a mistake at left\.0\.1/],
    ["three numbers", '{"left": [[0, 0, 0]], "right": []}', /a mistake at left\.0/],
    ["another key", '{"left": [], "right": [], "up": []}', /a mistake at the top/],
    [
      "too many",
      JSON.stringify({ left: Array(MAX_DEFECTS + 1).fill([0, 0]), right: [] }),
      /a mistake at left/,
    ],
  ])("%s is an error that names the form", (_, text, message) => {
    expect(() => parseDefects(text, "d.json")).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(message) }),
    );
  });

  test("any other bytes are that error too", () => {
    const random = new Random();
    const valid = '{"left": [[20, 10], [21, 10]], "right": [[63, 47]]}';
    for (let i = 0; i < 2000; i++) {
      const bytes = Buffer.from(valid);
      for (let n = random.whole(1, 4); n > 0; n--)
        bytes[random.whole(0, bytes.length - 1)] = random.whole(0, 255);
      try {
        parseDefects(bytes.toString("latin1"), "d.json");
      } catch (error) {
        expect(error, `seed ${random.seed}`).toMatchObject({ code: "CONFIG_INVALID" });
      }
    }
  });
});
