// SPDX-License-Identifier: Apache-2.0
// Registration into another camera's image: vectors worked out by hand, properties, and every fast form against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32_768;
const NO_NODE = -0x8000_0000;
const stage = native.stages.registration as unknown as (call: object, camera: object) => string;

interface Camera {
  width: number;
  height: number;
  matrix: Float64Array;
  grid?: Int32Array;
  gridX?: number;
  gridY?: number;
  gridWidth?: number;
  gridHeight?: number;
}

interface Call {
  width: number;
  disparityQ4: Int16Array;
  confidence?: Uint8Array;
  fill?: boolean;
  threads?: number;
  focalPixels?: number;
  baselineMetres?: number;
  disparityOffsetPixels?: number;
  /** The other camera's image, one or three bytes a pixel; with it, points of so many bytes get colours. */
  pixels?: Uint8Array;
  pointBytes?: number;
}

/** f B = 50 m px: 50 px is 1 m. */
const RIG = { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0 };

function register(variant: string, camera: Camera, call: Call) {
  const pixels = camera.width * camera.height;
  const out = {
    millimetres: new Uint16Array(pixels).fill(7),
    registeredConfidence: new Uint8Array(pixels).fill(7),
    points: new Uint8Array(call.disparityQ4.length * (call.pointBytes ?? 0)).fill(7),
  };
  const confidence = new Uint8Array(call.disparityQ4.length).fill(200);
  const height = call.disparityQ4.length / call.width;
  const ran = stage({ variant, ...RIG, fill: false, confidence, ...call, height, ...out }, camera);
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return out;
}

/** The left camera itself, of a size. */
const same = (width: number, height = 1, shift = 0): Camera => ({
  width,
  height,
  matrix: Float64Array.of(1, 0, 0, shift, 0, 1, 0, 0, 0, 0, 1, 0),
});
const forms = ["reference", ...variants];

describe.each(forms)("registration, %s: by hand", (variant) => {
  test("into the left image itself it is the depth, halves of a millimetre up, with its confidence", () => {
    // 50 000 mm px / 50 px, 16 px, 1/16 px (800 m: none), 0 (none).
    const { millimetres, registeredConfidence } = register(variant, same(5), {
      width: 5,
      disparityQ4: Int16Array.of(800, 256, 1, INVALID, 0),
      confidence: Uint8Array.of(1, 2, 3, 4, 5),
    });
    expect([...millimetres]).toEqual([1000, 3125, 0, 0, 0]);
    expect([...registeredConfidence]).toEqual([1, 2, 0, 0, 0]);
    const half = { width: 1, disparityQ4: Int16Array.of(16), focalPixels: 1 };
    const depthOf = (baselineMetres: number) =>
      register(variant, same(1), { ...half, baselineMetres }).millimetres[0];
    expect([0.0025, 0.00225, 65.535, 65.5355, 0.0005, 0.00049].map(depthOf)).toEqual([3, 2, 65_535, 0, 1, 0]);
  });

  test("the right image has the pixel x at x - d, rounded to the nearest pixel, halves up", () => {
    // Pixel 3 by 1.5 px to 1.5, which is pixel 2; pixel 4 by 4 px to 0; pixel 1 leaves the image.
    const { millimetres } = register(variant, same(5, 1, -1), {
      width: 5,
      disparityQ4: Int16Array.of(INVALID, 32, INVALID, 24, 64),
    });
    expect([...millimetres]).toEqual([12_500, 0, 33_333, 0, 0]);
  });

  test("the nearest of two in one pixel wins in any order, and of equal ones the more confident", () => {
    // All columns fall into pixel 0.
    const camera = { ...same(1), matrix: Float64Array.of(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0) };
    for (const order of [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
      [1, 3, 0, 2],
    ]) {
      const at = (values: number[]) => order.map((i) => values[i]!);
      const { millimetres, registeredConfidence } = register(variant, camera, {
        width: 4,
        disparityQ4: Int16Array.from(at([400, 800, 800, 160])),
        confidence: Uint8Array.from(at([255, 30, 90, 255])),
      });
      expect([millimetres[0], registeredConfidence[0]]).toEqual([1000, 90]);
    }
  });

  test("a camera half a metre ahead sees things nearer by that", () => {
    // Z' = Z - 0.5 m: W = 1 - 0.5 d / 50, at the principal point.
    const matrix = Float64Array.of(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, -0.5 / 50);
    const { millimetres } = register(
      variant,
      { width: 1, height: 1, matrix },
      {
        width: 1,
        disparityQ4: Int16Array.of(400),
      },
    );
    expect(millimetres[0]).toBe(1500);
    // At 0.4 m the point is behind it.
    const behind = register(
      variant,
      { width: 1, height: 1, matrix },
      {
        width: 1,
        disparityQ4: Int16Array.of(2000),
      },
    );
    expect(behind.millimetres[0]).toBe(0);
  });

  test("a value seen through a hole between two nearer pixels is removed, and filled only if asked", () => {
    // Near, hole, near: the far one in the hole comes from another row.
    const near = 800;
    const far = 160;
    // biome-ignore format: as an image
    const disparityQ4 = Int16Array.of(
      near, near, near, near,
      near, far, near, near,
      near, near, near, INVALID,
    );
    const plain = register(variant, same(4, 3), { width: 4, disparityQ4 });
    // biome-ignore format: as an image
    expect([...plain.millimetres]).toEqual([
      1000, 1000, 1000, 1000,
      1000, 0, 1000, 1000,
      1000, 1000, 1000, 0,
    ]);
    const filled = register(variant, same(4, 3), { width: 4, disparityQ4, fill: true });
    // The corner has three neighbours only.
    // biome-ignore format: as an image
    expect([...filled.millimetres]).toEqual([
      1000, 1000, 1000, 1000,
      1000, 1000, 1000, 1000,
      1000, 1000, 1000, 0,
    ]);
    expect([filled.registeredConfidence[5], filled.registeredConfidence[6]]).toEqual([0, 200]);
    // 15/16 of its depth is not nearer enough: 960 of 1024 mm.
    const step = register(variant, same(3), {
      width: 3,
      baselineMetres: 0.1024,
      focalPixels: 500,
      disparityQ4: Int16Array.of(853, 800, 853),
    });
    expect(step.millimetres[1]).toBe(1024);
  });

  test("filling takes the farthest of the depths around", () => {
    // biome-ignore format: as an image
    const disparityQ4 = Int16Array.of(
      800, 800, 400,
      800, INVALID, 400,
      INVALID, INVALID, INVALID,
    );
    const { millimetres } = register(variant, same(3, 3), { width: 3, disparityQ4, fill: true });
    expect(millimetres[4]).toBe(2000);
    expect(millimetres[7]).toBe(0);
  });

  test("a lens moves pixels by its grid, between nodes in proportion; without a node there is none", () => {
    // Nodes 8 px apart. The node at (8, 0) is moved by 4 px to the right.
    const grid = Int32Array.of(0, 0, 384, 0, 0, 256, 384, 256);
    const lens = { ...same(13), grid, gridX: 0, gridY: 0, gridWidth: 2, gridHeight: 2 };
    const disparityQ4 = new Int16Array(9).fill(800);
    const { millimetres } = register(variant, lens, { width: 9, disparityQ4 });
    // x becomes 1.5 x: 0, 1.5, 3, 4.5, 6, 7.5, 9, 10.5; the last column has no cell.
    const seen = [0, 2, 3, 5, 6, 8, 9, 11];
    expect([...millimetres]).toEqual(Array.from({ length: 13 }, (_, x) => (seen.includes(x) ? 1000 : 0)));
    const broken = { ...lens, grid: Int32Array.of(0, 0, NO_NODE, 0, 0, 256, 384, 256) };
    expect(new Set(register(variant, broken, { width: 9, disparityQ4 }).millimetres)).toEqual(new Set([0]));
  });
});

describe.each(forms)("colours of points, %s: by hand", (variant) => {
  /** Returns blue, green, red and the last byte of every point, and checks that the bytes before them stay. */
  function colours(camera: Camera, call: Call, pointBytes: number): number[][] {
    const { points } = register(variant, camera, { ...call, pointBytes });
    return Array.from(call.disparityQ4, (_, i) => {
      const point = [...points.subarray(i * pointBytes, (i + 1) * pointBytes)];
      expect(new Set(point.slice(0, -4))).toEqual(new Set([7]));
      return point.slice(-4);
    });
  }

  test.each([10, 16])("the pixel that a point falls on, blue first, of points of %i bytes", (pointBytes) => {
    // In the right image 3 - 1.5 px is pixel 2, 4 - 4 px pixel 0, pixel 1 leaves it.
    const pixels = Uint8Array.from({ length: 15 }, (_, i) => 10 + i);
    const call = { width: 5, disparityQ4: Int16Array.of(INVALID, 32, INVALID, 24, 64), pixels };
    expect(colours(same(5, 1, -1), call, pointBytes)).toEqual([
      [0, 0, 0, 0],
      [0, 0, 0, 0],
      [0, 0, 0, 0],
      [18, 17, 16, 255],
      [12, 11, 10, 255],
    ]);
    const grey = { ...call, pixels: Uint8Array.of(1, 2, 3, 4, 5) };
    expect(colours(same(5, 1, -1), grey, pointBytes).slice(3)).toEqual([
      [3, 3, 3, 255],
      [1, 1, 1, 255],
    ]);
  });

  test("a point behind another has none; 15/16 of its depth is not behind", () => {
    // All columns fall into pixel 0. 240, 256 and 257 sixteenths are 1024, 960 and 956 mm.
    const camera = { ...same(1), matrix: Float64Array.of(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0) };
    const rig = { focalPixels: 16, baselineMetres: 0.96, pixels: Uint8Array.of(9) };
    const seen = (...sixteenths: number[]) =>
      colours(camera, { ...rig, width: sixteenths.length, disparityQ4: Int16Array.from(sixteenths) }, 16).map(
        (one) => one[3],
      );
    expect(seen(240, 256)).toEqual([255, 255]);
    expect(seen(240, 257)).toEqual([0, 255]);
    expect(seen(257, 60, 240)).toEqual([255, 0, 0]);
  });

  test("where a seen pixel looks like a filled one there is none", () => {
    const call = { width: 3, disparityQ4: new Int16Array(3).fill(800), pixels: Uint8Array.of(1, 2, 3) };
    const confidence = Uint8Array.of(0, 9, 0);
    expect(colours(same(3), { ...call, confidence, fill: true }, 16).map((one) => one[3])).toEqual([
      0, 255, 0,
    ]);
    expect(colours(same(3), { ...call, confidence }, 16).map((one) => one[3])).toEqual([255, 255, 255]);
  });
});

/** A camera of any pose and lens that sees something of an image. */
function anyCamera(random: Random, width: number): Camera {
  const some = (size: number) => (size * random.whole(-1000, 1000)) / 1000;
  const out = { width: random.whole(1, 160), height: random.whole(1, 70) };
  const scale = (out.width / width) * (0.8 + 0.01 * random.whole(0, 60));
  // biome-ignore format: one row of the matrix per line
  const matrix = Float64Array.of(
    scale, some(0.05), some(3), some(2),
    some(0.05), scale, some(3), some(2),
    some(0.0005), some(0.0005), 1 + some(0.05), some(0.02),
  );
  if (random.whole(0, 1) === 0) return { ...out, matrix };
  const [gridX, gridY] = [-random.whole(0, 900), -random.whole(0, 900)];
  const gridWidth = 2 + Math.floor((32 * out.width - gridX) / 256);
  const gridHeight = 2 + Math.floor((32 * out.height - gridY) / 256);
  const grid = Int32Array.from({ length: 2 * gridWidth * gridHeight }, (_, at) => {
    const node = Math.floor(at / 2);
    if (at % 2 === 1) return gridY + 256 * Math.floor(node / gridWidth) + random.whole(-300, 300);
    return random.whole(0, 40) === 0 ? NO_NODE : gridX + 256 * (node % gridWidth) + random.whole(-300, 300);
  });
  return { ...out, matrix, grid, gridX, gridY, gridWidth, gridHeight };
}

describe.each(variants)("registration, %s: the definition's bits", (variant) => {
  test("of any disparities, poses and lenses, on any number of threads", () => {
    const random = new Random(31);
    for (const width of [...AWKWARD_WIDTHS, ...AWKWARD_WIDTHS]) {
      const height = random.whole(1, 40);
      const camera = anyCamera(random, width);
      const kind = random.whole(0, 2);
      const [low, high] = [
        [-32_768, 32_767],
        [80, 120],
        [90, 400],
      ][kind] as [number, number];
      const call = {
        width,
        disparityQ4: random.fill(new Int16Array(width * height), low, high),
        confidence: random.fill(new Uint8Array(width * height), 0, 255),
        fill: random.whole(0, 1) === 1,
        disparityOffsetPixels: random.whole(0, 1) * 0.37,
        pointBytes: random.whole(0, 1) === 0 ? 10 : 16,
        pixels: random.fill(
          new Uint8Array((random.whole(0, 1) === 0 ? 3 : 1) * camera.width * camera.height),
          0,
          255,
        ),
      };
      for (let i = 0; i < width * height; i += 9) call.disparityQ4[i] = INVALID;
      const expected = register("reference", camera, call);
      for (const threads of [1, 3]) {
        const got = register(variant, camera, { ...call, threads });
        const what = `${width}x${height} into ${camera.width}x${camera.height}`;
        expectSameImage(got.millimetres, expected.millimetres, camera.width, what);
        expectSameImage(got.registeredConfidence, expected.registeredConfidence, camera.width, what);
        expectSameImage(got.points, expected.points, width * call.pointBytes, what);
      }
    }
  });
});

test("no disparity, and one behind the camera, give no depth in any form", () => {
  for (const variant of forms) {
    const { millimetres, registeredConfidence } = register(variant, same(70, 3), {
      width: 70,
      disparityQ4: new Int16Array(210).fill(INVALID),
      fill: true,
    });
    expect(new Set([...millimetres, ...registeredConfidence])).toEqual(new Set([0]));
  }
});

test("depths from 2^40 and offsets from 65536 px are refused, each alone", () => {
  const call = { width: 1, disparityQ4: Int16Array.of(16) };
  const tries = [
    // 16000 f B x 1: 2^40 at 68.7 m x 10^6 px.
    { focalPixels: 1e6, baselineMetres: 68, disparityOffsetPixels: 0 },
    { focalPixels: 1e6, baselineMetres: 69, disparityOffsetPixels: 0 },
    { focalPixels: 1, baselineMetres: 1, disparityOffsetPixels: 65_535 },
    { focalPixels: 1, baselineMetres: 1, disparityOffsetPixels: -65_536 },
  ];
  const results = tries.map((one) => {
    try {
      register("reference", same(1), { ...call, ...one });
      return "computed";
    } catch (error) {
      return (error as Error).message;
    }
  });
  const refused = expect.stringContaining("finite and below");
  expect(results).toEqual(["computed", refused, "computed", refused]);
});

test("numbers that are not finite or too large are refused", () => {
  const call = { width: 1, disparityQ4: Int16Array.of(16) };
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1e12]) {
    const camera = same(1);
    camera.matrix[2] = value;
    expect(() => register("reference", camera, call)).toThrow("finite and below");
  }
});
