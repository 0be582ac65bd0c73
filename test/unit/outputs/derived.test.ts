// SPDX-License-Identifier: Apache-2.0
// Zones, scan, quality, floor and grid by hand.
import { expect, test } from "vitest";
import { createEngine } from "../../../cuda/index.js";
import { loadConfig } from "../../../edge/config/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { Rig } from "../../../edge/contracts/rig.js";
import { floorEngineOptions } from "../../../edge/outputs/derived/floor/engine-options.js";
import { Obstacles, scanOf } from "../../../edge/outputs/derived/floor/obstacles.js";
import { packGrid } from "../../../edge/outputs/derived/floor/packed-grid.js";
import { floorFigures, floorPose, planeOf } from "../../../edge/outputs/derived/floor/plane.js";
import { nearestIn, nearestScan } from "../../../edge/outputs/derived/nearest.js";
import { parseZones, polygonSpans } from "../../../edge/outputs/derived/polygon.js";
import { gridOver, planeFit, TemporalNoise } from "../../../edge/outputs/derived/quality.js";
import { engineOptionsFrom } from "../../../edge/pipeline/engine-options.js";
import { uncalibrated } from "../../../edge/pipeline/geometry.js";

const zoneCorners = (text: string) => {
  const zones = parseZones(text);
  if (typeof zones === "string") throw new Error(zones);
  return zones[0]!.corners;
};

test.each([
  ["a 0,0 1,1 1,0 0,1", "edges 1 and 3 of zone a meet"],
  ["a 0,0 1,0 0.5,0 0.5,1", "edges 1 and 2 of zone a meet"],
  ["a 0,0 1,0 1,1 0.5,0", "edges 1 and 3 of zone a meet"],
  ["a 0.5,0 1,1 1,0 0,0 0,1", "edges 1 and 3 of zone a meet"],
  ["a 0,1 0.5,0 1,1 1,0 0,0", "edges 1 and 4 of zone a meet"],
  ["a 0,0 0,1 0,0.5 1,0.5", "edges 1 and 2 of zone a meet"],
  ["a 0.5,0.5 0.5,0.5 0.5,0.5", "expected a polygon with an area in zone a, got none"],
  ["a 0,0 1,0", "3 to 32 corners in zone a, got 2"],
  ["a 0,0 0.5,0.5 1,1", "of zone a meet"],
  ...["1,2", "2,1", "1.5,1", "1,1.5", "-0.1,1", "1,-0.1", "1,1,1"].map((corner) => [
    `a 0,0 1,0 ${corner}`,
    `corners x,y from 0 to 1 in zone a, got ${corner}`,
  ]),
  [`a ${"0,0 ".repeat(32)} 0,0`, "3 to 32 corners in zone a, got 33"],
  ["a 0,0 1,0 1,", "got 1,"],
  ["a 0,0 1,0 1,1; a 0,0 1,0 1,1", "got a twice"],
  ["a+b 0,0 1,0 1,1", "expected a name"],
  ["", "expected a name"],
  [Array.from({ length: 17 }, (_, i) => `z${i} 0,0 1,0 1,1`).join("; "), "at most 16 zones, got 17"],
] as [string, string][])("the zones %j are refused", (text, why) => {
  expect(parseZones(text)).toEqual(expect.stringContaining(why));
});

test.each([
  ["corners on two borders", "a 0,0 1,0 0,1"],
  ["an edge whose line crosses another one outside it", "a 0,0 1,0 1,1 0.5,0.2"],
  ["corners next to a diagonal, which comes first", "a 0,0 1,1 0.5,0.9 0.3,0.9 0,0.5"],
  ["corners next to a diagonal, which comes later", "a 0.5,0.9 0.3,0.9 0,0.5 0,0 1,1"],
  [
    "32 corners",
    `a 0,0 ${Array.from({ length: 30 }, (_, i) => `${(i + 1) / 31},${i % 2 ? 0.1 : 0.2}`).join(" ")} 1,0`,
  ],
  ["16 zones", Array.from({ length: 16 }, (_, i) => `z${i} 0,0 1,0 1,1`).join("; ")],
])("zones may have %s", (_, text) => {
  expect(parseZones(text)).toHaveLength(text.split(";").length);
});

test("a polygon that crosses itself is refused at the start, with its key", () => {
  const set = ["outputs.derived.enabled=true", "outputs.derived.zones=a 0,0 1,1 1,0 0,1"];
  expect(() => loadConfig({ set, environment: {} })).toThrow(
    /outputs\.derived\.zones.*does not cross itself/s,
  );
});

test("pixels whose centres are in a polygon, also in one with a dent", () => {
  expect(polygonSpans(zoneCorners("all 0,0 1,0 1,1 0,1"), 4, 2)).toEqual([
    { y: 0, from: 0, to: 4 },
    { y: 1, from: 0, to: 4 },
  ]);
  // The letter U on 6 x 4 pixels.
  const u = zoneCorners("u 0,0 0.34,0 0.34,0.5 0.66,0.5 0.66,0 1,0 1,1 0,1");
  expect(polygonSpans(u, 6, 4)).toEqual([
    { y: 0, from: 0, to: 2 },
    { y: 0, from: 4, to: 6 },
    { y: 1, from: 0, to: 2 },
    { y: 1, from: 4, to: 6 },
    { y: 2, from: 0, to: 6 },
    { y: 3, from: 0, to: 6 },
  ]);
  // A corner at the height of a row's centres counts once; a row between two centres has no pixels.
  expect(polygonSpans(zoneCorners("a 0,0.25 1,0.25 0.5,1"), 4, 2)).toEqual([
    { y: 0, from: 0, to: 4 },
    { y: 1, from: 1, to: 3 },
  ]);
  expect(polygonSpans(zoneCorners("a 0.4,0 0.6,0 0.5,1"), 2, 2)).toEqual([]);
  expect(polygonSpans(zoneCorners("a 0,0 1,0 1,1 0,1"), 1, 5, 2).map(({ y }) => y)).toEqual([0, 2, 4]);
  // Two triangles of a square share no pixel and leave none out.
  const count = (text: string) =>
    polygonSpans(zoneCorners(text), 64, 48).reduce((sum, { from, to }) => sum + to - from, 0);
  expect(count("a 0,0 1,0 1,1") + count("b 0,0 1,1 0,1")).toBe(64 * 48);
});

test("the nearest distance needs enough matched pixels, and filled ones do not count", () => {
  const depthMillimetres = Uint16Array.of(500, 700, 700, 900, 0, 100, 65535, 800);
  const confidence = Uint8Array.of(9, 9, 9, 9, 9, 0, 9, 9);
  const picture = { width: 4, height: 2, depthMillimetres, confidence };
  const spans = [
    { y: 0, from: 0, to: 4 },
    { y: 1, from: 0, to: 4 },
  ];
  const nearest = (minPixels: number) => nearestIn(picture, spans, minPixels);
  expect(nearest(1)).toEqual({ nearestMillimetres: 500, pixels: 8, matched: 6 });
  expect(nearest(2).nearestMillimetres).toBe(700);
  expect(nearest(4).nearestMillimetres).toBe(800);
  expect(nearest(6).nearestMillimetres).toBe(65535);
  expect(nearest(7).nearestMillimetres).toBeUndefined();
  expect(nearestIn(picture, [{ y: 0, from: 3, to: 4 }], 1)).toEqual({
    nearestMillimetres: 900,
    pixels: 1,
    matched: 1,
  });
});

test("a scan by hand: a wall at 2 m, straight ahead and to both sides", () => {
  const [width, height] = [5, 3];
  const picture = {
    width,
    height,
    depthMillimetres: new Uint16Array(width * height).fill(2000),
    confidence: new Uint8Array(width * height).fill(255),
  };
  const geometry = { focalPixels: 2, centreX: 2 };
  const band = { top: 0, bottom: 1, rays: 3, minPixels: 1 };
  const scan = nearestScan(picture, geometry, band);
  expect(scan.angleMin).toBeCloseTo(-Math.PI / 4, 12);
  expect(scan.angleMax).toBeCloseTo(Math.PI / 4, 12);
  expect(scan.angleIncrement).toBeCloseTo(Math.PI / 4, 12);
  // Columns 0 and 1 are nearest to +45 degrees: atan(1) and atan(1/2) = 26.6 degrees, whose range is the smaller one.
  const side = 2 * Math.hypot(1, 1 / 2);
  expect(scan.ranges.map((range) => range!.toFixed(9))).toEqual(
    [side, 2, side].map((range) => range.toFixed(9)),
  );
  // One near pixel of the middle column, left of it nothing matched.
  picture.depthMillimetres[1 * width + 2] = 1000;
  for (const at of [0, 1, 5, 6, 10, 11]) picture.confidence[at] = 0;
  expect(nearestScan(picture, geometry, band).ranges.slice(1)).toEqual([1, undefined]);
  expect(nearestScan(picture, geometry, { ...band, minPixels: 2 }).ranges[1]).toBe(2);
  expect(nearestScan(picture, geometry, { ...band, top: 0.9 }).ranges[1]).toBe(2);
  // A band of no height is one row.
  picture.depthMillimetres[2 * width + 2] = 500;
  expect(nearestScan(picture, geometry, { ...band, top: 0.4, bottom: 0.2 }).ranges[1]).toBe(1);
  // Nothing at the distance 0, and 1 mm at the right border.
  picture.depthMillimetres.fill(0);
  picture.depthMillimetres[width - 1] = 1;
  const { ranges, angleIncrement } = nearestScan(picture, geometry, { ...band, rays: 2 });
  expect(ranges).toEqual([expect.closeTo(0.001 * Math.SQRT2, 12), undefined]);
  expect(angleIncrement).toBeCloseTo(Math.PI / 2, 12);
});

test.each([[[5, 4, 3, 2, 1]], [[1, 2, 3, 4, 5]], [[3, 1, 5, 2, 4]], [[2, 2, 5, 1, 2]]])(
  "a ray's range is the minPixels-th smallest of %j",
  (metres) => {
    const depthMillimetres = Uint16Array.from(metres, (one) => 1000 * one);
    const picture = { width: 1, height: 5, depthMillimetres, confidence: new Uint8Array(5).fill(1) };
    const ordered = metres.toSorted((a, b) => a - b);
    for (const [at, range] of ordered.entries())
      expect(
        nearestScan(
          picture,
          { focalPixels: 2, centreX: 0 },
          { top: 0, bottom: 1, rays: 1, minPixels: at + 1 },
        ),
      ).toEqual({ angleMin: 0, angleMax: 0, angleIncrement: 0, ranges: [range] });
  },
);

function sloped(width: number, height: number, change: (i: number) => number = () => 0) {
  const disparityQ4 = Int16Array.from(
    { length: width * height },
    (_, i) => 320 + (i % width) + 2 * Math.floor(i / width) + change(i),
  );
  return { width, height, disparityQ4, confidence: new Uint8Array(width * height).fill(200) };
}

test("a grid over the middle half of an image", () => {
  expect(gridOver(8, 4, 0.5)).toEqual({
    places: Int32Array.of(10, 11, 12, 13, 18, 19, 20, 21),
    xs: Float64Array.of(-2, -1, 0, 1, -2, -1, 0, 1),
    ys: Float64Array.of(-1, -1, -1, -1, 0, 0, 0, 0),
  });
  const { places, xs } = gridOver(200, 100, 1);
  expect([places.length, xs[0], xs[63]]).toEqual([4096, -99, 98]);
});

test("a plane is fitted to the matched pixels wherever they are, 50 or more of them", () => {
  const [width, height] = [64, 48];
  const grid = gridOver(width, height, 1);
  const corner = sloped(width, height);
  for (const [at] of corner.disparityQ4.entries())
    if (2 * (at % width) + Math.floor(at / width) > 60) corner.disparityQ4[at] = at % 2 ? -32768 : 99;
    else continue;
  corner.confidence = corner.confidence.map((value, at) => (corner.disparityQ4[at] === 99 ? 0 : value));
  const fit = planeFit(corner, grid)!;
  expect(fit.rmsPixels).toBeLessThan(1e-9);
  expect(fit.disparityPixels).toBeCloseTo((320 + 32 + 48) / 16, 9);
  // 7 rows of 7, and one more.
  const few = sloped(width, height);
  few.confidence = few.confidence.map((_, at) => (at % width < 7 && at < 7 * width ? 1 : 0));
  expect(planeFit(few, grid)).toBeUndefined();
  few.confidence[8 * width] = 1;
  expect(planeFit(few, grid)?.disparityPixels).toBeCloseTo((320 + 32 + 48) / 16, 9);
});

test("a twelfth of outliers is 3.3 times the residual off, and is left out", () => {
  const outliers = sloped(128, 96, (i) => (((i * 2654435761) >>> 13) % 12 === 0 ? 160 : 0));
  const fit = planeFit(outliers, gridOver(128, 96, 1))!;
  expect(fit.inlierShare).toBeCloseTo(11 / 12, 1);
  expect(fit.inlierShare).toBeLessThan(1);
  expect(fit.rmsPixels).toBeLessThan(0.1);
});

test("a plane leaves no residual; a tenth of outliers is left out; noise is measured", () => {
  const [width, height] = [128, 96];
  const grid = gridOver(width, height, 1);
  const plane = planeFit(sloped(width, height), grid)!;
  expect(plane.rmsPixels).toBeLessThan(1e-9);
  expect(plane.inlierShare).toBe(1);
  expect(plane.disparityPixels).toBeCloseTo((320 + 64 + 96) / 16, 9);
  const far = planeFit(
    sloped(width, height, (i) => ((i * 7919) % 101 === 0 ? 2000 : 0)),
    grid,
  )!;
  expect(far.rmsPixels).toBeLessThan(0.01);
  expect(far.inlierShare).toBeLessThan(1);
  // Plus and minus 8 sixteenths in a pattern that no plane follows: half a pixel.
  const noisy = planeFit(
    sloped(width, height, (i) => (((i * 2654435761) >>> 15) % 2 === 0 ? 8 : -8)),
    grid,
  )!;
  expect(noisy.rmsPixels).toBeCloseTo(0.5, 2);
  const dark = sloped(width, height);
  dark.confidence.fill(0);
  expect(planeFit(dark, grid)).toBeUndefined();
});

test("noise over frames: the standard deviation of what alternates, nothing of what stands still or is not always matched", () => {
  const [width, height] = [64, 48];
  const noise = new TemporalNoise(gridOver(width, height, 0.5), 4);
  const frames = [0, 1, 2, 3].map((n) => sloped(width, height, () => (n % 2 === 0 ? 16 : -16)));
  const reported = frames.map((frame) => noise.add(frame));
  // +1, -1, +1, -1 pixel: variance 4 / 3.
  expect(reported.slice(0, 3)).toEqual([undefined, undefined, undefined]);
  expect(reported[3]).toBeCloseTo(Math.sqrt(4 / 3), 9);
  const still = [0, 1, 2, 3].map(() => noise.add(sloped(width, height)));
  expect(still[3]).toBe(0);
  frames[2]!.confidence.fill(0);
  expect(frames.map((frame) => noise.add(frame))[3]).toBeNaN();
});

const FLOOR_VIEW = {
  width: 320,
  height: 240,
  focalPixels: 200,
  baselineMetres: 0.2,
  disparityOffsetPixels: 0,
  cx: 160,
  cy: 70,
};

/** A pair that brings the disparity of a floor 1 m below cameras that look ahead, with a box 2.05 m ahead. */
function floorPair({ confident = true, share = 1 } = {}) {
  const { width, height } = FLOOR_VIEW;
  const pixels = width * height;
  const right = Buffer.alloc(4 * pixels);
  for (let i = 0; i < pixels; i++) {
    const [x, y] = [i % width, Math.floor(i / width)];
    const isBox = x >= 150 && x < 170 && y >= 150 && y < 168;
    right.writeInt16LE(Math.round(share * (isBox ? 312 : Math.max(16, 3.2 * (y - 70)))), pixels + 2 * i);
  }
  if (confident) right.fill(200, 3 * pixels);
  return { width, height, left: new Uint8Array(pixels), right: new Uint8Array(right) };
}

/** Opens an engine that finds the floor of such pairs, and the documents of its frames. */
function floorDocuments(set: readonly string[] = [], view = FLOOR_VIEW) {
  const { width, height } = view;
  const { config } = loadConfig({
    set: [
      ...["board=none", "outputs.derived.enabled=true", "outputs.derived.floor=auto"],
      ...["outputs.derived.grid=true", "outputs.derived.gridCellMetres=0.1", "match.numDisparities=64"],
      ...["refine.median=false", "refine.fill=off", ...set],
    ],
    environment: {},
  });
  const rig = { rectification: view } as unknown as Rig;
  const description = {
    width,
    height,
    leftFormat: "GREY" as const,
    rightFormat: "GREY_DISPARITY" as const,
    leftStrideBytes: width,
    rightStrideBytes: width,
  };
  const engine = createEngine({
    ...engineOptionsFrom(
      config,
      { description },
      { ...uncalibrated(width, height), depth: view },
      floorEngineOptions(config.outputs.derived, { width, height, rig }),
    ),
    backend: "cpu",
  });
  const obstacles = new Obstacles(config.outputs.derived);
  const documents = async ({ left, right }: ReturnType<typeof floorPair>) => {
    await engine.compute(left, right);
    return obstacles.documents({ slot: engine.slots[0]! } as unknown as ComputedFrame, view);
  };
  return { engine, documents, obstacles };
}

test("the floor is estimated, kept while it is not seen, and then missing with a reason; the grid shows the box", async () => {
  const { engine, documents, obstacles } = floorDocuments();
  const { floor, grid } = (await documents(floorPair())) as { floor?: unknown; grid?: unknown };
  expect(floor).toMatchObject({
    source: "estimated",
    heightMetres: expect.closeTo(1, 2),
    pitchDegrees: expect.closeTo(0, 0),
    rollDegrees: expect.closeTo(0, 1),
  });
  const { rows, scan } = grid as { rows: string[]; scan: { ranges: (number | null)[] } };
  // 2.05 m ahead, 0 to 0.2 m left of the left camera: the middle of the baseline is 0.1 m right of it.
  expect(rows[50 - 1 - 20]!.slice(21, 26)).toMatch(/#/);
  expect(rows.join("")).not.toContain("v");
  expect(Math.abs(scan.ranges[32]! - 2.05)).toBeLessThan(0.15);
  // The image ends at atan(160 / 200) to both sides, with 64 rays.
  expect(scan).toMatchObject({ angleMin: -0.674741, angleMax: 0.674741, angleIncrement: 0.02142035 });
  const dark = floorPair({ confident: false });
  for (let frame = 0; frame < 60; frame++) {
    const kept = { source: "kept", confidence: 0, reason: expect.any(String) };
    expect(await documents(dark)).toMatchObject({ floor: kept });
  }
  const reason = expect.stringContaining("fewer than a twentieth");
  const none = { available: false, reason };
  expect(await documents(dark)).toMatchObject({ floor: none, grid: none });
  expect(Math.max(...engine.slots[0]!.grid)).toBe(0);
  // A new floor is not mixed with the lost one.
  expect((await documents(floorPair())).floor).toMatchObject({ heightMetres: expect.closeTo(1, 2) });
  engine.close();
  const uncalibratedFrame = { slot: { floor: new Float64Array(0) } } as unknown as ComputedFrame;
  const noDepth = "without a calibration there is no depth";
  const seenFrame = { slot: engine.slots[0] } as unknown as ComputedFrame;
  for (const [frame, view] of [
    [uncalibratedFrame, undefined],
    [uncalibratedFrame, FLOOR_VIEW],
    [seenFrame, undefined],
  ] as const) {
    const nothing = { available: false, reason: noDepth };
    expect(obstacles.documents(frame, view)).toEqual({ floor: nothing, grid: nothing });
  }
});

test("a plane of disparities is that of a floor below tilted cameras, whose middle is not that of the image", () => {
  const view = {
    width: 321,
    height: 241,
    focalPixels: 200,
    baselineMetres: 0.12,
    cx: 163.2,
    cy: 117.8,
    disparityOffsetPixels: 3,
  };
  const figures = { heightMetres: 1.2, pitchDegrees: 10, rollDegrees: 5 };
  const { a, b, c } = planeOf(figures, view);
  const [pitch, roll] = [Math.PI / 18, Math.PI / 36];
  const down = [Math.sin(roll) * Math.cos(pitch), Math.cos(roll) * Math.cos(pitch), Math.sin(pitch)] as const;
  for (const [x, y] of [
    [0, 240],
    [320, 200],
    [160, 120],
  ] as const) {
    // The ray of the pixel meets the floor at this share of 1 m of depth.
    const perMetre = (down[0] * (x - 163.2) + down[1] * (y - 117.8)) / 200 + down[2];
    const disparity = (200 * 0.12 * perMetre) / 1.2 - 3;
    expect((a * (x - 160) + b * (y - 120) + c) / (16 * 65_536)).toBeCloseTo(disparity, 3);
  }
  const found = floorFigures({ a, b, c }, view);
  for (const [name, value] of Object.entries(figures))
    expect(found[name as keyof typeof figures], name).toBeCloseTo(value, 3);
  const pose = floorPose({ a, b, c }, view);
  expect([pose.heightMetres, pose.baselineMetres]).toEqual([expect.closeTo(1.2, 4), 0.12]);
  for (const [axis, value] of pose.down.entries()) expect(value).toBeCloseTo(down[axis]!, 5);
});

test("a floor that changes is followed by a quarter a frame", async () => {
  const { engine, documents } = floorDocuments();
  await documents(floorPair());
  const before = engine.slots[0]!.floor.slice();
  await documents(floorPair({ share: 1.2 }));
  const after = engine.slots[0]!.floor.slice();
  // The filtered a, b and c follow the found ones at 1.
  for (const [at, found] of [1, 2, 3].entries()) {
    const step = (after[found]! - before[10 + at]!) / 4;
    expect(Math.abs(after[10 + at]! - before[10 + at]! - step)).toBeLessThanOrEqual(0.5);
  }
  expect(after[11]! / before[11]!).toBeCloseTo(1.05, 2);
  engine.close();
});

test("a floor with small disparities, and a set one that the pixels contradict, have a reason", async () => {
  const small = floorDocuments([], { ...FLOOR_VIEW, baselineMetres: 0.05 });
  expect((await small.documents(floorPair({ share: 0.25 }))).floor).toMatchObject({
    reason: expect.stringContaining("larger images"),
  });
  small.engine.close();
  const wrong = floorDocuments(["outputs.derived.floor=set", "outputs.derived.floorHeightMetres=0.4"]);
  expect((await wrong.documents(floorPair())).floor).toMatchObject({
    source: "set",
    confidence: 0,
    reason: expect.any(String),
  });
  wrong.engine.close();
});

test("a grid without a floor is refused", () => {
  const set = ["outputs.derived.grid=true"];
  expect(() => loadConfig({ set, environment: {} })).toThrow(/outputs\.derived\.(grid|floor).*auto or set/s);
});

test.each(["gridBinary", "gridRos"])("%s without a grid is refused", (key) => {
  const set = ["outputs.derived.floor=auto", `outputs.derived.${key}=true`];
  expect(() => loadConfig({ set, environment: {} })).toThrow(`expected grid true with ${key}, got false`);
});

test("the bytes of a packed grid: a header of 32, then four cells a byte", () => {
  const head = { clock: "monotonic", leftTimestampNs: 0x0102030405060708n, cellMetres: 0.25 } as const;
  const bytes = packGrid(head, Uint8Array.of(0, 1, 2, 3, 3, 2, 1, 0, 2), 3);
  expect(Buffer.from(bytes).toString("hex")).toBe(
    ["44574752", "01", "01", "2000", "0807060504030201", "0300", "0300", "0000803e"].join("") +
      "0".repeat(16) +
      ["e4", "1b", "02"].join(""),
  );
});

/** Settings of a floor and its grid of 4 x 4 cells. */
const FLOOR_SETTINGS = {
  enabled: true,
  floor: "auto",
  floorHeightMetres: 0,
  floorTiltDegrees: 0,
  floorRollDegrees: 0,
  grid: true,
  gridMetres: 2,
  gridCellMetres: 0.5,
  obstacleMetres: 0.05,
  dropMetres: 0.1,
} as const;
const FLOOR_GEOMETRY = {
  width: 20,
  height: 10,
  focalPixels: 10,
  baselineMetres: 0.14,
  disparityOffsetPixels: 0.1,
  cx: 12,
  cy: 6,
};

/** Documents of a frame whose floor has the normal (2, 3, 6) / 7, the disparity 0.07 px for each metre of baseline and height. */
function documentsByHand(
  numbers: { outcome?: number; on?: number; under?: number; isThere?: number },
  settings: object = {},
  cells = new Uint8Array(16),
) {
  const { outcome = 0, on = 1000, under = 1536, isThere = 1 } = numbers;
  const scale = 16 * 65_536;
  // 0.02 and 0.03 px for each column and row; 0.6 px at the principal point, 2 columns and 1 row from the middle.
  const plane = [0.02 * scale, 0.03 * scale, (0.6 - 0.1 - 0.02 * 2 - 0.03) * scale];
  const floor = Float64Array.of(outcome, 7, 7, 7, 7, on, 7, under, 7, isThere, ...plane);
  const obstacles = new Obstacles({ ...FLOOR_SETTINGS, ...settings } as never);
  const frame = { slot: { floor, grid: cells } } as unknown as ComputedFrame;
  return { documents: obstacles.documents(frame, FLOOR_GEOMETRY), obstacles, frame };
}

const POSE = {
  heightMetres: 2,
  // asin(6 / 7) and atan(2 / 3).
  pitchDegrees: 58.997,
  rollDegrees: 33.69,
};

test.each([
  [{}, {}, { source: "estimated", confidence: 0.651, imageShare: 0.326 }],
  [{}, { floor: "set" }, { source: "set", confidence: 0.651, imageShare: 0.326 }],
  [{ on: 3072, under: 0 }, {}, { source: "estimated", confidence: 0, imageShare: 1 }],
  [{ on: 1, under: 1 }, {}, { source: "estimated", confidence: 1, imageShare: 0 }],
  [{ outcome: 3 }, {}, { source: "kept", confidence: 0, imageShare: 0, reason: expect.any(String) }],
])("the floor of a frame with the numbers %j and the settings %j", (numbers, settings, expected) => {
  const { documents } = documentsByHand(numbers, { grid: false, ...settings });
  expect(documents).toEqual({ floor: { ...POSE, ...expected } });
});

test("a floor that is missing has a reason, and so has its grid", () => {
  const reason = "more pixels are below it than on it";
  const floor = { available: false, reason };
  const { documents, obstacles } = documentsByHand({ outcome: 4, isThere: 0 });
  expect(documents).toEqual({ floor, grid: { available: false, reason: `no floor: ${reason}` } });
  expect(obstacles.view.pose).toBeUndefined();
  expect(documentsByHand({ outcome: 4, isThere: 0 }, { grid: false }).documents).toEqual({ floor });
  const seen = documentsByHand({});
  expect(seen.obstacles.view.pose).toBeDefined();
  const none = { available: false, reason: "without a calibration there is no depth" };
  expect(seen.obstacles.documents(seen.frame, undefined)).toEqual({ floor: none, grid: none });
  // The cells of the frame before are not shown again.
  expect(seen.obstacles.view).toMatchObject({ cells: new Uint8Array(16), pose: undefined });
  const withoutGrid = documentsByHand({}, { grid: false });
  expect(withoutGrid.obstacles.documents(withoutGrid.frame, undefined)).toEqual({ floor: none });
  expect(withoutGrid.obstacles.view.pose).toBeUndefined();
  const withoutNumbers = { slot: { floor: new Float64Array(0) } } as unknown as ComputedFrame;
  expect(seen.obstacles.documents(withoutNumbers, FLOOR_GEOMETRY)).toEqual({ floor: none, grid: none });
});

test("the rows of a grid by hand: the farthest first, the left on the left", () => {
  // [ahead][left]: 0 unknown, 1 free, 2 occupied, 3 drop-off.
  const cells = Uint8Array.of(1, 1, 1, 2, 0, 0, 1, 1, 2, 1, 0, 3, 3, 2, 1, 0);
  const { documents, obstacles } = documentsByHand({}, {}, cells);
  expect(documents.grid).toEqual({
    cellMetres: 0.5,
    rows: ["?.#v", "v?.#", "..??", "#..."],
    scan: obstacles.view.scan,
  });
  expect(obstacles.view).toMatchObject({
    cells,
    side: 4,
    cellMetres: 0.5,
    pose: {
      down: [2 / 7, 3 / 7, 6 / 7].map((axis) => expect.closeTo(axis, 9)),
      heightMetres: expect.closeTo(2, 9),
      baselineMetres: 0.14,
    },
  });
});

/** Angles of the 64 rays of an image that sees 45 degrees to both sides, the right one first. */
const RAY_ANGLES = Array.from({ length: 64 }, (_, ray) => -Math.PI / 4 + (ray * Math.PI) / 126);
/** Scans 40 x 40 cells of 0.1234 m, of which `cell` returns the class. */
const scanned = (cell: (ahead: number, left: number) => number) =>
  scanOf(
    Uint8Array.from({ length: 1600 }, (_, at) => cell(Math.floor(at / 40), at % 40)),
    40,
    0.1234,
    FLOOR_GEOMETRY,
  );
/** Range of an obstacle after so many halves of a cell. */
const afterHalves = (count: number) => Number((0.0617 * count).toFixed(3));

test("a scan of a corridor: a wall 6 cells ahead, and drop-offs 3 cells to both sides", () => {
  const scan = scanned((ahead, left) => (ahead === 6 ? 2 : left === 16 || left === 23 ? 3 : 1));
  expect(scan).toEqual({
    angleMin: -0.785398,
    angleMax: 0.785398,
    angleIncrement: 0.02493328,
    ranges: RAY_ANGLES.map((angle) =>
      afterHalves(Math.min(Math.ceil(12 / Math.cos(angle)), Math.ceil(6 / Math.abs(Math.sin(angle))))),
    ),
  });
});

test.each([
  ["right", 0, -1],
  ["left", 39, 1],
])("a scan sees the outermost cells on the %s, and nothing beyond", (_, column, side) => {
  const { ranges } = scanned((_ahead, left) => (left === column ? 2 : 1));
  const expected = RAY_ANGLES.map((angle) => {
    const halves = Math.ceil(38 / Math.abs(Math.sin(angle)));
    const isSeen = Math.sign(angle) === side && (halves / 2) * Math.cos(angle) < 40;
    return isSeen ? afterHalves(halves) : null;
  });
  expect(expected.filter((range) => range !== null).length).toBeGreaterThan(5);
  expect(ranges).toEqual(expected);
});

test("a scan sees the nearest cell, half a cell ahead, and the farthest row", () => {
  const near = scanned((ahead, left) => (ahead === 0 && left === 20 ? 2 : 0)).ranges;
  // Rays to the left, and none to the right.
  expect(near).toEqual([...Array(32).fill(null), ...Array(32).fill(0.062)]);
  const far = scanned((ahead) => (ahead === 39 ? 2 : 0)).ranges;
  expect(far.slice(31, 33)).toEqual([afterHalves(79), afterHalves(79)]);
  expect(far[0]).toBeNull();
});

test.each([
  [640, 2],
  [480, 2],
  [320, 1],
  [100, 1],
])("the engine of images %i px wide gets the floor, and a grid of every %i. column", (width, stepX) => {
  const rig = { rectification: { ...FLOOR_GEOMETRY, width: 5, height: 5 } } as unknown as Rig;
  const options = (settings: object) =>
    floorEngineOptions({ ...FLOOR_SETTINGS, ...settings } as never, { width, height: 10, rig });
  const grid = {
    cellMetres: 0.5,
    aheadCells: 4,
    leftCells: 4,
    obstacleMetres: 0.05,
    tallMetres: 2,
    dropMetres: 0.1,
    errorPixels: 0.5,
    minPixels: 6,
    stepX,
  };
  expect(options({})).toEqual({ floor: { cx: 12, cy: 6 }, grid });
  expect(options({ grid: false })).toEqual({ floor: { cx: 12, cy: 6 } });
  expect([options({ enabled: false }), options({ floor: "off" })]).toEqual([{}, {}]);
  expect(floorEngineOptions(FLOOR_SETTINGS, { width, height: 10, rig: undefined })).toEqual({});
  // A floor 2 m below cameras that look ahead: 0.07 px a row, and infinity (-0.1 px) in row 6.
  const set = { floor: "set", floorHeightMetres: 2, grid: false } as const;
  const row = Math.round(0.07 * 16 * 65_536);
  expect(options(set).floor).toEqual({
    cx: 12,
    cy: 6,
    plane: Float64Array.of(0, row, Math.round(-(0.1 + 0.07) * 16 * 65_536)),
  });
});

test("quality by hand: one column has no plane, and a pixel without a disparity no noise", () => {
  const column = sloped(1, 64);
  const grid = gridOver(1, 64, 1);
  expect(grid.places).toEqual(Int32Array.from({ length: 64 }, (_, row) => row));
  expect(planeFit(column, grid)).toBeUndefined();
  const noise = new TemporalNoise(gridOver(1, 1, 1), 2);
  const add = (q4: number) =>
    noise.add({ width: 1, height: 1, disparityQ4: Int16Array.of(q4), confidence: Uint8Array.of(9) });
  // 16 and 48 sixteenths are 2 px apart: sqrt(2) px.
  expect([add(16), add(48)]).toEqual([undefined, expect.closeTo(Math.SQRT2, 12)]);
  expect([add(16), add(-32768)]).toEqual([undefined, Number.NaN]);
});
