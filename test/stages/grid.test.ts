// SPDX-License-Identifier: Apache-2.0
// The grid: by hand, a rendered edge, twins of the definition.
import { describe, expect, test } from "vitest";
import { SCENE_BASELINE_METRES, SceneRenderer, sceneView } from "../../camera/index.js";
import { floorPose, planeOf } from "../../edge/outputs/derived/floor/plane.js";
import { expectSameImage, native, Random, variants } from "../doubles/stages.js";

const stage = native.stages.grid as unknown as (call: object) => string;
const SIGNS = "?.#v";
const HEIGHTS = { obstacleMetres: 0.05, tallMetres: 2, dropMetres: 0.08, errorPixels: 0.5 };
const FORM = { cellMetres: 0.1, aheadCells: 50, leftCells: 41, minPixels: 3, stepX: 1 };

/** Returns the cells of a map, [ahead][left]. */
function grid(
  variant: string,
  call: Record<string, unknown> & { aheadCells: number; leftCells: number },
): Uint8Array {
  const cells = new Uint8Array(call.aheadCells * call.leftCells);
  expect(stage({ variant, ...call, cells })).toBe(variant);
  return cells;
}

/** A camera 1 m above the floor that looks ahead: 0.1 px of disparity a row. */
const [width, height] = [200, 220];
const view = {
  width,
  height,
  focalPixels: 100,
  baselineMetres: 0.1,
  disparityOffsetPixels: 0,
  cx: 100,
  cy: 20,
};
const level = planeOf({ heightMetres: 1, pitchDegrees: 0, rollDegrees: 0 }, view);
const floor = Float64Array.of(level.a, level.b, level.c);
const map = () => ({
  ...view,
  ...HEIGHTS,
  ...FORM,
  floor,
  disparityQ4: Int16Array.from({ length: width * height }, (_, i) =>
    Math.max(0, Math.round(1.6 * (Math.floor(i / width) - 20))),
  ),
  confidence: new Uint8Array(width * height).fill(200),
});

const forms = ["reference", variants[0]!];
describe.each(forms)("grid, %s: by hand", (variant) => {
  /** The cell at so many metres ahead, and to the left of the pair's middle. */
  const at = (cells: Uint8Array, ahead: number, left: number) =>
    SIGNS[cells[Math.floor(ahead / 0.1) * FORM.leftCells + Math.floor(left / 0.1 + 20)]!];

  test("a floor is free where it was seen; under the cameras and outside the view it is unknown", () => {
    const cells = grid(variant, map());
    // Row 220 sees the floor at f h / 200 = 0.5 m, row 70 at 2 m.
    expect([at(cells, 0.3, 0), at(cells, 0.75, 0), at(cells, 2.05, 0)]).toEqual(["?", ".", "."]);
    expect([at(cells, 0.75, 1.5), at(cells, 1.55, 1.3)]).toEqual(["?", "."]);
  });

  test("a box 2 m ahead is occupied at its place; filled pixels and a hole hide the floor: unknown", () => {
    const call = map();
    // 2.05 m is 78 sixteenths; columns 100 to 120 are 0 to 0.4 m to the right of the left camera, 0.05 m less from the middle.
    for (let y = 20; y < 70; y++) call.disparityQ4.fill(78, y * width + 100, y * width + 120);
    for (let y = 120; y < 132; y++) call.confidence.fill(0, y * width, (y + 1) * width);
    const cells = grid(variant, call);
    expect([at(cells, 2.05, -0.15), at(cells, 2.05, 0.15), at(cells, 3.05, -0.3)]).toEqual(["#", ".", "?"]);
    // Rows 120 to 132: 0.9 to 1 m.
    expect(at(cells, 0.95, 0)).toBe("?");
  });

  test("a floor that is 0.2 m lower beyond 1.5 m is a drop-off from there on, and one above 2 m no obstacle", () => {
    const call = map();
    // The edge is at row 20 + 100 / 1.5; behind it D = B (y - cy) / 1.2.
    for (let y = 20; y < 86; y++)
      for (let x = 0; x < width; x++) call.disparityQ4[y * width + x] = Math.round((1.6 * (y - 20)) / 1.2);
    const cells = grid(variant, call);
    expect([at(cells, 1.35, 0), at(cells, 1.65, 0), at(cells, 2.05, 0.4)]).toEqual([".", "v", "v"]);
    const high = map();
    for (let y = 0; y < 5; y++) high.disparityQ4.fill(16, y * width, (y + 1) * width);
    // 1 px is 10 m; 15 rows above the axis there is 1.5 m, 2.5 m above the floor.
    expect(Math.max(...grid(variant, { ...high, aheadCells: 120 }))).toBe(1);
  });
});

describe.each(forms)("grid, %s: one cell, by hand", (variant) => {
  // One row whose floor is at 320 sixteenths, 0.5 m ahead and 0.8 m below the camera: 65536 / 0.8 = 81920 a metre.
  const row = { width: 40, height: 1, focalPixels: 100, baselineMetres: 0.1, disparityOffsetPixels: 0 };
  const cell = { cellMetres: 1, aheadCells: 1, leftCells: 1, minPixels: 1, stepX: 1 };
  const heights = { obstacleMetres: 0.01, tallMetres: 0.7, dropMetres: 0.01, errorPixels: 0 };
  const flat = { cx: 40, cy: -160, floor: Float64Array.of(0, 2 * 65536, 320 * 65536) };
  const sign = (disparities: number[], change: object = {}, confidence = 1) => {
    const disparityQ4 = Int16Array.from({ length: 40 }, (_, x) => disparities[x] ?? -32768);
    const sure = new Uint8Array(40).fill(confidence);
    const call = { ...row, ...cell, ...heights, ...flat, ...change, disparityQ4, confidence: sure };
    return SIGNS[Math.max(...grid(variant, call))];
  };
  const [FREE, OBSTACLE, DROP] = [320, 340, 300];

  test.each([
    [0, 3, 0, "#"],
    [0, 2, 0, "?"],
    [0, 0, 3, "v"],
    [0, 0, 2, "?"],
    [0, 3, 3, "#"],
    [0, 2, 3, "v"],
    [34, 3, 0, "#"],
    [34, 0, 3, "v"],
    [1, 0, 0, "."],
    [0, 0, 0, "?"],
    // Eight times as many as the others.
    [8, 1, 0, "."],
    [7, 1, 0, "?"],
    [8, 0, 1, "."],
    [7, 0, 1, "?"],
    [16, 1, 1, "."],
    [15, 1, 1, "?"],
    [16, 2, 0, "."],
    [15, 2, 0, "?"],
    [32, 2, 2, "."],
    [31, 2, 2, "?"],
  ])("%i free pixels, %i of an obstacle and %i of a drop-off: %s", (free, obstacle, drop, expected) => {
    const all = [...Array(free).fill(FREE), ...Array(obstacle).fill(OBSTACLE), ...Array(drop).fill(DROP)];
    expect(sign(all, { minPixels: 3 })).toBe(expected);
    expect(sign(all.reverse(), { minPixels: 3 })).toBe(expected);
  });

  test.each([
    // r = 65536 (D - 320), against D times 81920 of each height: both sides are equal at the first disparity.
    [{ obstacleMetres: 0.3 }, 512, ".", 513, "#"],
    [{ tallMetres: 0.3 }, 512, "#", 513, "?"],
    [{ dropMetres: 0.2 }, 256, ".", 255, "v"],
    // A pixel is 16 sixteenths.
    [{ obstacleMetres: 0, errorPixels: 1 }, 336, ".", 337, "#"],
    [{ dropMetres: 0, errorPixels: 1 }, 304, ".", 303, "v"],
    [{ obstacleMetres: 0, tallMetres: 0, errorPixels: 1 }, 336, ".", 337, "?"],
  ])("%j: %i is %s, %i is %s", (change, at, expected, beyond, found) => {
    expect([sign([at], change), sign([beyond], change)]).toEqual([expected, found]);
  });

  test("pixels without a match and columns between the steps do not count", () => {
    expect(sign([OBSTACLE], {}, 0)).toBe("?");
    const second = (stepX: number) => sign([-32768, -32768, OBSTACLE], { stepX });
    expect([1, 2, 3, 4].map(second)).toEqual(["#", "#", "?", "?"]);
    expect(sign([OBSTACLE], { stepX: 64 })).toBe("#");
  });

  test("a disparity of one pixel counts, less does not, neither at the point nor at the floor behind it", () => {
    // With a floor of c sixteenths, 160 rows below the axis.
    const far = (c: number, d: number) =>
      sign([d], {
        aheadCells: 12,
        leftCells: 12,
        tallMetres: 100,
        floor: Float64Array.of(0, Math.round((65536 * c) / 160), 65536 * c),
      });
    expect([far(16, 16), far(16, 15), far(15, 16), far(15, 15)]).toEqual([".", "?", "#", "?"]);
    expect(far(15.5, 15)).toBe("?");
    expect([far(16.5, 16), far(17, 16)]).toEqual(["v", "v"]);
  });
});

describe.each(forms)("grid, %s: the cell of a pixel, by geometry", (variant) => {
  type Vector = [number, number, number];
  const dot = (a: Vector, b: Vector) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const times = (a: Vector, by: number): Vector => [a[0] * by, a[1] * by, a[2] * by];
  const minus = (a: Vector, b: Vector): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const crossed = (a: Vector, b: Vector): Vector => [
    a[1] * b[2] - a[2] * b[1],
    a[2] * b[0] - a[0] * b[2],
    a[0] * b[1] - a[1] * b[0],
  ];

  test("its state and place, with any pose, rig and limits", () => {
    const random = new Random(61);
    const seen = [0, 0, 0, 0];
    for (let round = 0; round < 1500; round++) {
      const pixel = { width: random.whole(31, 65), height: random.whole(20, 49) };
      const rig = {
        ...pixel,
        focalPixels: random.whole(40, 90),
        baselineMetres: random.whole(5, 40) / 100,
        disparityOffsetPixels: random.pick([0, 0, -3.5, 5.25]),
        cx: pixel.width / 2 + random.whole(-6, 6),
        cy: pixel.height / 2 + random.whole(-6, 6),
      };
      const heightMetres = random.whole(30, 200) / 100;
      const pose = { heightMetres, pitchDegrees: random.whole(5, 60), rollDegrees: random.whole(-20, 20) };
      const ofFloor = planeOf(pose, rig);
      const form = {
        cellMetres: random.pick([0.05, 0.11, 0.2]),
        aheadCells: random.whole(30, 60),
        leftCells: random.whole(30, 61),
        minPixels: 1,
        stepX: random.pick([1, 1, 2, 3]),
      };
      const limits = {
        obstacleMetres: random.whole(0, 20) / 100,
        tallMetres: random.whole(20, 80) / 100,
        dropMetres: random.whole(0, 20) / 100,
        errorPixels: random.pick([0, 0.25, 0.5]),
      };
      const [x, y] = [random.whole(0, pixel.width - 1), random.whole(0, pixel.height - 1)];

      // Down in the camera's axes (right, down, ahead), and the other two axes of the grid.
      const { down } = floorPose(ofFloor, rig);
      const flat = minus([0, 0, 1], times(down, down[2]));
      const ahead = times(flat, 1 / Math.sqrt(dot(flat, flat)));
      const right = crossed(down, ahead);
      const ray: Vector = [(x - rig.cx) / rig.focalPixels, (y - rig.cy) / rig.focalPixels, 1];
      const { focalPixels: f, baselineMetres: b } = rig;
      const floorD = (f * b * dot(down, ray)) / heightMetres;
      if (floorD < 1.1) continue;
      const raised = random.whole(-30, 90) / 100;
      const sixteenths = Math.round(16 * (floorD / (1 - raised / heightMetres) - rig.disparityOffsetPixels));
      const d = sixteenths / 16 + rig.disparityOffsetPixels;
      if (raised >= 0.9 * heightMetres || d < 1) continue;
      const above = heightMetres - dot(down, times(ray, (f * b) / d));

      // How far the pixel is from each limit, pixels of disparity.
      const margin = (metres: number, limit: number) =>
        ((metres - limit) * d) / heightMetres - limits.errorPixels;
      const obstacle = margin(above, limits.obstacleMetres);
      const drop = margin(-above, limits.dropMetres);
      const tall = ((above - limits.tallMetres) * d) / heightMetres;
      if ([obstacle, drop, tall].some((pixels) => Math.abs(pixels) < 0.01)) continue;
      const state = obstacle > 0 ? (tall > 0 ? 0 : 2) : drop > 0 ? 3 : 1;

      // An obstacle is at its point, others where their ray meets the floor, whose disparity is rounded down.
      const z = (f * b) / (obstacle > 0 ? d : Math.floor(16 * floorD) / 16);
      if (obstacle <= 0 && Math.abs(16 * floorD - Math.round(16 * floorD)) < 0.01) continue;
      const point = minus(times(ray, z), [b / 2, 0, 0]);
      const cell = [
        dot(point, ahead) / form.cellMetres,
        -dot(point, right) / form.cellMetres + Math.floor(form.leftCells / 2),
      ];
      if (cell.some((place) => Math.abs(place - Math.round(place)) < 0.03)) continue;
      const [i, j] = cell.map(Math.floor) as [number, number];
      const inside = i >= 0 && i < form.aheadCells && j >= 0 && j < form.leftCells && x % form.stepX === 0;

      const call = {
        ...rig,
        ...form,
        ...limits,
        floor: Float64Array.of(ofFloor.a, ofFloor.b, ofFloor.c),
        disparityQ4: new Int16Array(pixel.width * pixel.height).fill(-32_768),
        confidence: new Uint8Array(pixel.width * pixel.height).fill(1),
      };
      call.disparityQ4[y * pixel.width + x] = sixteenths;
      const expected = new Uint8Array(form.aheadCells * form.leftCells);
      if (inside) expected[i * form.leftCells + j] = state;
      expectSameImage(grid(variant, call), expected, form.leftCells, `round ${round}`);
      if (inside) seen[state]!++;
    }
    for (const [state, count] of seen.entries()) expect(count, `cells of state ${state}`).toBeGreaterThan(20);
  });
});

test("no cell of a rendered drop-off within 3 m is free, none of the platform is one, from any pose", () => {
  const size = sceneView(320, 240);
  for (const pose of [
    { heightMetres: 0.6, pitchDegrees: 20, rollDegrees: 5 },
    { heightMetres: 1.3, pitchDegrees: 11.3, rollDegrees: 0 },
  ]) {
    const renderer = new SceneRenderer(native, {
      width: 320,
      height: 240,
      view: "ideal",
      room: "stairs",
      pose,
    });
    const geometry = { ...size, baselineMetres: SCENE_BASELINE_METRES, disparityOffsetPixels: 0 };
    const { disparity } = renderer.truth(0, "left", size);
    renderer.close();
    const { a, b, c } = planeOf(pose, geometry);
    const cells = grid(variants[0]!, {
      ...geometry,
      ...HEIGHTS,
      ...FORM,
      floor: Float64Array.of(a, b, c),
      disparityQ4: Int16Array.from(disparity.data, (d) => Math.round(16 * d)),
      confidence: new Uint8Array(320 * 240).fill(200),
    });
    let drops = 0;
    for (let ahead = 0; ahead < 30; ahead++)
      for (let left = 0; left < FORM.leftCells; left++) {
        // The platform ends 2.6 m ahead and 0.9 m to the left of the left camera, 0.96 m of the middle.
        const [x, y] = [(ahead + 0.5) / 10, (left + 0.5 - 20) / 10];
        const state = SIGNS[cells[ahead * FORM.leftCells + left]!];
        const [inside, outside] = [x < 2.5 && y < 0.8, x > 2.7 || y > 1.1];
        if (outside) expect(state, `${x} m ahead, ${y} m left`).not.toBe(".");
        if (inside) expect(state, `${x} m ahead, ${y} m left`).not.toBe("v");
        if (outside && state === "v") drops++;
      }
    expect(drops).toBeGreaterThan(50);
  }
});

test.each([
  [1, 1],
  [33, 7],
  [201, 111],
])("grid: twin of the reference, %i x %i", (wide, high) => {
  const random = new Random();
  for (let round = 0; round < 30; round++) {
    const call = {
      width: wide,
      height: high,
      focalPixels: random.whole(20, 400),
      baselineMetres: random.whole(1, 100) / 100,
      disparityOffsetPixels: random.pick([0, -20.3, 31]),
      cx: random.whole(-10, wide),
      cy: random.whole(-10, high),
      floor: Float64Array.of(
        random.whole(-99_999, 99_999),
        random.whole(-9999, 299_999),
        random.whole(-1e9, 1e9),
      ),
      obstacleMetres: random.whole(0, 30) / 100,
      tallMetres: random.whole(1, 3),
      dropMetres: random.whole(0, 30) / 100,
      errorPixels: random.whole(0, 8) / 4,
      cellMetres: random.whole(1, 20) / 20,
      aheadCells: random.whole(1, 90),
      leftCells: random.whole(1, 90),
      minPixels: random.whole(1, 9),
      stepX: random.whole(1, 3),
      threads: random.whole(1, 3),
      disparityQ4: random.fill(
        new Int16Array(wide * high),
        random.pick([-32_768, -10]),
        random.pick([300, 32_767]),
      ),
      confidence: random.fill(new Uint8Array(wide * high), 0, 9),
    };
    const what = `seed ${random.seed}, round ${round}`;
    expectSameImage(grid(variants[0]!, call), grid("reference", call), call.leftCells, what);
  }
});

test("numbers outside their ranges are refused by name", () => {
  const bad = { ...map(), cells: new Uint8Array(50 * 41), variant: "reference" };
  for (const [name, value] of [
    ["cellMetres", 0],
    ["errorPixels", Number.NaN],
    ["focalPixels", -1],
  ] as const)
    expect(() => stage({ ...bad, [name]: value })).toThrow(name);
  expect(() => stage({ ...bad, floor: new Float64Array(3) })).toThrow("not a wall");
});
