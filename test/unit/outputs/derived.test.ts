// SPDX-License-Identifier: Apache-2.0
// Zones, scan and quality by hand.
import { expect, test } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import { loadNative } from "../../../edge/contracts/native.js";
import { Obstacles } from "../../../edge/outputs/derived/floor/obstacles.js";
import { nearestIn, nearestScan } from "../../../edge/outputs/derived/nearest.js";
import { parseZones, polygonSpans } from "../../../edge/outputs/derived/polygon.js";
import { gridOver, planeFit, TemporalNoise } from "../../../edge/outputs/derived/quality.js";

const zoneCorners = (text: string) => {
  const zones = parseZones(text);
  if (typeof zones === "string") throw new Error(zones);
  return zones[0]!.corners;
};

test.each([
  ["a 0,0 1,1 1,0 0,1", "edges 1 and 3 of zone a meet"],
  ["a 0,0 1,0 0.5,0 0.5,1", "edges 1 and 2 of zone a meet"],
  ["a 0,0 1,0 1,1 0.5,0", "of zone a meet"],
  ["a 0,0 1,0", "3 to 32 corners in zone a, got 2"],
  ["a 0,0 0.5,0.5 1,1", "of zone a meet"],
  ["a 0,0 1,0 1,2", "corners x,y from 0 to 1 in zone a, got 1,2"],
  ["a 0,0 1,0 1,", "got 1,"],
  ["a 0,0 1,0 1,1; a 0,0 1,0 1,1", "got a twice"],
  ["a+b 0,0 1,0 1,1", "expected a name"],
  ["", "expected a name"],
  [Array.from({ length: 17 }, (_, i) => `z${i} 0,0 1,0 1,1`).join("; "), "at most 16 zones, got 17"],
])("the zones %j are refused", (text, why) => {
  expect(parseZones(text)).toEqual(expect.stringContaining(why));
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
  expect(nearestIn(picture, [{ y: 0, from: 3, to: 4 }], 1)).toMatchObject({ nearestMillimetres: 900 });
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
});

function sloped(width: number, height: number, change: (i: number) => number = () => 0) {
  const disparityQ4 = Int16Array.from(
    { length: width * height },
    (_, i) => 320 + (i % width) + 2 * Math.floor(i / width) + change(i),
  );
  return { width, height, disparityQ4, confidence: new Uint8Array(width * height).fill(200) };
}

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

/** A floor 1 m below cameras that look ahead, with a box 2.05 m ahead. */
function floorFrame(seconds: number, unmatchedFrom = 240) {
  const [width, height] = [320, 240];
  const disparityQ4 = Int16Array.from({ length: width * height }, (_, i) => {
    const [x, y] = [i % width, Math.floor(i / width)];
    return x >= 150 && x < 170 && y >= 150 && y < 168 ? 312 : Math.max(16, Math.round(3.2 * (y - 70)));
  });
  const confidence = new Uint8Array(width * height).fill(200).fill(0, unmatchedFrom * width);
  const slot = { disparityQ4, confidence };
  return { slot, width, height, leftTimestampNs: BigInt(seconds * 1e9) } as unknown as ComputedFrame;
}

test("the floor is estimated, kept while it is not seen, and then missing with a reason; the grid shows the box", () => {
  const view = {
    width: 320,
    height: 240,
    focalPixels: 200,
    baselineMetres: 0.2,
    disparityOffsetPixels: 0,
    cx: 160,
    cy: 70,
  };
  const { stages } = loadNative();
  const set = [
    "outputs.derived.floor=auto",
    "outputs.derived.grid=true",
    "outputs.derived.gridCellMetres=0.1",
  ];
  const opened = (more: string[] = []) =>
    new Obstacles(
      loadConfig({ set: [...set, ...more], environment: {} }).config.outputs.derived,
      stages,
      "scalar",
    );
  const obstacles = opened();
  const { floor, grid } = obstacles.documents(floorFrame(1), view) as { floor?: unknown; grid?: unknown };
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
  const dark = (seconds: number) => obstacles.documents(floorFrame(seconds, 0), view);
  expect(dark(2)).toMatchObject({ floor: { source: "kept", confidence: 0, reason: expect.any(String) } });
  const reason = expect.stringContaining("fewer than a twentieth");
  expect(dark(4)).toMatchObject({ floor: { available: false, reason }, grid: { available: false, reason } });
  const narrow = { ...view, baselineMetres: 0.1 };
  const small = floorFrame(1);
  small.slot.disparityQ4.forEach((q4, i, all) => {
    all[i] = Math.round(q4 / 4);
  });
  expect(opened().documents(small, narrow).floor).toMatchObject({
    reason: expect.stringContaining("larger images"),
  });
  expect(obstacles.documents(floorFrame(5), undefined).floor).toMatchObject({ available: false });
  const wrong = opened(["outputs.derived.floor=set", "outputs.derived.floorHeightMetres=0.4"]);
  expect(wrong.documents(floorFrame(1), view).floor).toMatchObject({
    source: "set",
    confidence: 0,
    reason: expect.any(String),
  });
});

test("a grid without a floor is refused", () => {
  const set = ["outputs.derived.grid=true"];
  expect(() => loadConfig({ set, environment: {} })).toThrow(/outputs\.derived\.(grid|floor).*auto or set/s);
});

test.each(["gridBinary", "gridRos"])("%s without a grid is refused", (key) => {
  const set = ["outputs.derived.floor=auto", `outputs.derived.${key}=true`];
  expect(() => loadConfig({ set, environment: {} })).toThrow(`expected grid true with ${key}, got false`);
});
