// SPDX-License-Identifier: Apache-2.0
// Three witnesses for points: vectors worked out by hand, properties, and twins that must agree in every bit.
import { describe, expect, test } from "vitest";
import { pointBytes } from "../../cuda/index.js";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32_768;
const stage = native.stages.points as unknown as (call: object) => string;
const depthStage = native.stages.depth as unknown as (call: object) => string;

interface Call {
  width: number;
  disparityQ4: Int16Array;
  grey?: Uint8Array;
  rgb?: Uint8Array;
  frame?: "camera" | "robot";
  element?: "float32" | "int16";
  focalPixels?: number;
  baselineMetres?: number;
  disparityOffsetPixels?: number;
  cx?: number;
  cy?: number;
  threads?: number;
}

/** f B = 50 m px; the principal point is the pixel (2, 1). */
const RIG = { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0, cx: 2, cy: 1 };

function encodeBytes(variant: string, call: Call): Uint8Array {
  const { width, disparityQ4 } = call;
  const form = { frame: "camera" as const, element: "float32" as const };
  const whole = { ...RIG, ...form, grey: new Uint8Array(disparityQ4.length), ...call };
  const bytes = pointBytes({ element: whole.element, colours: call.rgb !== undefined });
  const points = new Uint8Array(disparityQ4.length * bytes);
  const height = disparityQ4.length / width;
  const ran = stage({ variant, ...whole, height, points });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return points;
}

/** Coordinates of each point, three by three. */
function encodePlaces(variant: string, call: Call): number[][] {
  const bytes = encodeBytes(variant, call);
  const view = new DataView(bytes.buffer);
  const size = bytes.length / call.disparityQ4.length;
  const value = (at: number, axis: number) =>
    call.element === "int16" ? view.getInt16(at + 2 * axis, true) : view.getFloat32(at + 4 * axis, true);
  return Array.from(call.disparityQ4, (_, i) => [0, 1, 2].map((axis) => value(i * size, axis)));
}

const forms = ["reference", ...variants];
const { fround } = Math;

describe.each(forms)("points, %s: by hand", (variant) => {
  // 50 px: 1 m ahead. At the principal point the ray goes straight on; one column further it leaves by 1/500 m a metre.
  const disparityQ4 = Int16Array.of(INVALID, 800, 800, 800, INVALID, 0, 800, 400);
  const NONE = [Number.NaN, Number.NaN, Number.NaN];

  test("in the camera's frame x goes right, y down, z ahead", () => {
    const places = encodePlaces(variant, { width: 4, disparityQ4 });
    const step = fround(1 / 500);
    expect(places).toEqual([
      NONE,
      [-step, -step, 1],
      [0, -step, 1],
      [step, -step, 1],
      NONE,
      NONE,
      [0, 0, 1],
      [fround(2 * step), 0, 2],
    ]);
  });

  test("in the robot's frame x goes ahead, y left, z up, from the middle of the baseline", () => {
    const places = encodePlaces(variant, { width: 4, disparityQ4, frame: "robot" });
    const [step, half] = [fround(1 / 500), fround(0.05)];
    expect(places).toEqual([
      NONE,
      [1, fround(half + step), step],
      [1, half, step],
      [1, fround(half - step), step],
      NONE,
      NONE,
      [1, half, 0],
      [2, fround(half - fround(2 * step)), 0],
    ]);
  });

  test("Prehn's triangulation: both images' columns lead to the point", () => {
    // y = b/2 - x_l x / f = -b/2 - x_r x / f, with columns from the middle of each picture (eq. 2.3 and 2.4).
    const at = 7;
    const [x, y] = encodePlaces(variant, { width: 4, disparityQ4, frame: "robot" })[at]! as [number, number];
    const [left, disparity] = [1, 25];
    expect(x).toBeCloseTo((0.1 * 500) / disparity, 6);
    expect(y).toBeCloseTo(0.05 - (left * x) / 500, 6);
    expect(y).toBeCloseTo(-0.05 - ((left - disparity) * x) / 500, 6);
  });

  test("int16 is whole millimetres, halves up, and nothing beyond 32.767 m", () => {
    // 1.5 px: 33333 mm, too far. 50 px at the left edge: x = -2 / 500 of 1000 mm.
    const places = encodePlaces(variant, {
      width: 4,
      disparityQ4: Int16Array.of(800, INVALID, 24, 390),
      element: "int16",
      cy: 0,
    });
    const none = [INVALID, INVALID, INVALID];
    // 390/16 px: z = 800000 / 390 = 2051.28 mm, x = z / 500 = 4.10 mm.
    expect(places).toEqual([[-4, 0, 1000], none, none, [4, 0, 2051]]);
    // z = 250 mm: x is -1, -0.5, 0 and 0.5 mm, and halves go up.
    const halves = encodePlaces(variant, {
      width: 4,
      disparityQ4: Int16Array.of(3200, 3200, 3200, 3200),
      element: "int16",
      cy: 0,
    });
    expect(halves.map(([x]) => x)).toEqual([-1, 0, 0, 1]);
    const robot = encodePlaces(variant, {
      width: 4,
      disparityQ4: Int16Array.of(800, 24, 800, 800),
      element: "int16",
      frame: "robot",
      cy: 2,
    });
    expect(robot).toEqual([[1000, 54, 4], none, [1000, 50, 4], [1000, 48, 4]]);
  });

  test("a point has its grey, or its colour as ROS packs it; also where there is no place", () => {
    const disparities = Int16Array.of(800, INVALID);
    const grey = Uint8Array.of(7, 200);
    const rgb = Uint8Array.of(1, 2, 3, 250, 251, 252);
    const tail = (call: object) => {
      const bytes = encodeBytes(variant, { width: 2, disparityQ4: disparities, grey, ...call });
      const size = bytes.length / 2;
      const from = size === 16 ? 12 : 6;
      return [0, size].map((at) => [...bytes.subarray(at + from, at + size)]);
    };
    expect(tail({})).toEqual([
      [7, 7, 7, 255],
      [200, 200, 200, 255],
    ]);
    expect(tail({ rgb })).toEqual([
      [3, 2, 1, 255],
      [252, 251, 250, 255],
    ]);
    expect(tail({ element: "int16" })).toEqual([
      [7, 0],
      [200, 0],
    ]);
    expect(tail({ element: "int16", rgb })).toEqual([
      [3, 2, 1, 255],
      [252, 251, 250, 255],
    ]);
  });

  test("the offset of the principal points counts, and behind the cameras there is nothing", () => {
    const shifted = {
      width: 3,
      disparityQ4: Int16Array.of(864, 64, 48),
      disparityOffsetPixels: -4,
      cx: 0,
      cy: 0,
    };
    expect(encodePlaces(variant, shifted)).toEqual([[0, 0, 1], NONE, NONE]);
  });
});

describe.each(forms)("points, %s: properties", (variant) => {
  test("z is the depth in metres, bit for bit, and the two frames are one cloud", () => {
    const random = new Random();
    const width = 37;
    const disparityQ4 = random.fill(new Int16Array(width * 11), -40, 3000);
    const rig = {
      focalPixels: 431.7,
      baselineMetres: 0.1203,
      disparityOffsetPixels: 1.25,
      cx: 18.3,
      cy: 5.6,
    };
    const camera = encodePlaces(variant, { width, disparityQ4, ...rig });
    const robot = encodePlaces(variant, { width, disparityQ4, ...rig, frame: "robot" });
    const metres = new Float32Array(disparityQ4.length);
    depthStage({ variant, width, height: 11, disparityQ4, depth: metres, ...rig });
    for (const [i, [x, y, z]] of camera.entries()) {
      expect(z, `seed ${random.seed}, ${i}`).toBe(metres[i]);
      const [ahead, left, up] = robot[i]!;
      expect(ahead).toBe(z);
      if (Number.isNaN(z)) continue;
      expect(left).toBe(fround(fround(0.1203 / 2) - x!));
      expect(up! + y!).toBe(0);
    }
  });
});

describe.each(variants)("points, %s: the same bits as the reference", (variant) => {
  const ways = (["camera", "robot"] as const).flatMap((frame) =>
    (["float32", "int16"] as const).flatMap((element) =>
      [false, true].map((colours) => [frame, element, colours ? "rgb" : "grey"] as const),
    ),
  );
  test.each(ways)("%s, %s, %s: awkward widths, every disparity, 1 to 3 threads", (frame, element, colour) => {
    const random = new Random();
    for (const width of [...AWKWARD_WIDTHS, 256]) {
      const height = width === 256 ? 256 : 5;
      const disparityQ4 = new Int16Array(width * height);
      if (width === 256) for (let i = 0; i < disparityQ4.length; ++i) disparityQ4[i] = i - 32_768;
      else random.fill(disparityQ4, -20, 2000);
      for (let i = 0; i < disparityQ4.length; i += 7) disparityQ4[i] = INVALID;
      const call = {
        width,
        disparityQ4,
        frame,
        element,
        grey: random.fill(new Uint8Array(width * height), 0, 255),
        ...(colour === "rgb" && { rgb: random.fill(new Uint8Array(3 * width * height), 0, 255) }),
        focalPixels: random.whole(1, 3_000_000) / 1000,
        baselineMetres: random.whole(1, 1_000_000) / 1e6,
        disparityOffsetPixels: random.whole(0, 1) === 0 ? 0 : random.whole(-200_000, 200_000) / 1000,
        cx: random.whole(-1000, 300_000) / 1000,
        cy: random.whole(-1000, 10_000) / 1000,
      };
      const { disparityQ4: _, grey: __, rgb: ___, ...inputs } = { rgb: undefined, ...call };
      const what = `seed ${random.seed}, ${JSON.stringify(inputs)}`;
      const got = encodeBytes(variant, { ...call, threads: random.whole(1, 3) });
      expectSameImage(got, encodeBytes("reference", call), got.length / height, what);
    }
  });
});

describe("points: bad calls", () => {
  const call = { width: 1, disparityQ4: Int16Array.of(1) };
  test.each([
    [{ focalPixels: Number.NaN }, "focalPixels"],
    [{ frame: "world" }, "camera or robot"],
    [{ element: "float64" }, "float32 or int16"],
    [{ rgb: new Uint8Array(2) }, "rgb"],
  ])("%j is refused by name", (wrong, name) => {
    expect(() => encodeBytes("scalar", { ...call, ...(wrong as object) })).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining(name) }),
    );
  });
});
