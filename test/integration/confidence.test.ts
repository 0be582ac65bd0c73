// SPDX-License-Identifier: Apache-2.0
// Tests the confidence of whole frames: 0 for unmatched pixels, low for ambiguous ones, and growing with the share of
// correct pixels.
import { expect, test } from "vitest";
import { SceneRenderer } from "../../camera/index.js";
import { ALGORITHMS, createEngine } from "../../cuda/index.js";
import { loadConfig } from "../../edge/config/index.js";
import { engineMatcher, engineOptionsFor, readDataset, readScene } from "../../edge/eval/index.js";
import { needsData } from "../doubles/needs.js";
import { native, Random } from "../doubles/stages.js";

const INVALID = -32768;

async function computed(
  left: Uint8Array,
  right: Uint8Array,
  width: number,
  height: number,
  set: string[] = [],
) {
  const { config } = loadConfig({ set });
  const engine = createEngine(engineOptionsFor(config, width, height, 64));
  try {
    const result = await engine.compute(left, right);
    const { confidence, disparityQ4 } = engine.slots[0]!;
    return { result, confidence: confidence.slice(), disparityQ4: disparityQ4.slice() };
  } finally {
    engine.close();
  }
}

test.each(ALGORITHMS)("a pair of one grey value is hardly believed anywhere: %s", async (algorithm) => {
  for (const [width, height] of [
    [200, 60],
    [200, 1],
    [9, 40],
  ] as const) {
    const flat = new Uint8Array(width * height).fill(128);
    const { confidence } = await computed(flat, flat, width, height, [`match.algorithm=${algorithm}`]);
    expect(Math.max(...confidence), `${width}x${height}`).toBeLessThanOrEqual(1);
  }
});

/** A textured room at disparity 20; in it, a bare wall at disparity 12, from x = 60 to wallEnd. */
function room(width: number, height: number, wallEnd = 130) {
  const random = new Random(5);
  const texture = random.fill(new Uint8Array((width + 64) * height), 0, 255);
  const regions = {
    wall: { x0: 60, x1: wallEnd, y0: 20, y1: height - 20 },
  };
  const left = new Uint8Array(width * height);
  const right = new Uint8Array(width * height);
  const within = (r: { x0: number; x1: number; y0: number; y1: number }, x: number, y: number) =>
    x >= r.x0 && x < r.x1 && y >= r.y0 && y < r.y1;
  for (let y = 0; y < height; ++y) {
    for (let x = width + 20; x >= 0; --x) {
      const wall = within(regions.wall, x, y);
      const value = wall ? 140 : texture[y * (width + 64) + x]!;
      if (x < width) left[y * width + x] = value;
      const xr = x - (wall ? 12 : 20);
      // The surface in front is written last where both would land: the wall lies behind the room, as a window in it.
      if (xr >= 0 && xr < width && (!wall || right[y * width + xr] === 0)) right[y * width + xr] = value;
    }
  }
  return { left, right, regions };
}

test("a bare wall has a low confidence at every disparity", async () => {
  const [width, height] = [320, 120];
  const { left, right, regions } = room(width, height);
  const { confidence, disparityQ4 } = await computed(left, right, width, height);
  const areaMean = ({ x0, x1, y0, y1 }: { x0: number; x1: number; y0: number; y1: number }) => {
    let sum = 0;
    for (let y = y0; y < y1; ++y) for (let x = x0; x < x1; ++x) sum += confidence[y * width + x]!;
    return sum / ((x1 - x0) * (y1 - y0));
  };
  const inner = (r: typeof regions.wall) => ({ x0: r.x0 + 10, x1: r.x1 - 10, y0: r.y0 + 5, y1: r.y1 - 5 });
  const textured = { x0: 260, x1: 310, y0: 10, y1: 110 };
  expect(areaMean(textured)).toBeGreaterThan(240);
  expect(Math.abs(disparityQ4[60 * width + 285]! / 16 - 20)).toBeLessThan(1);
  expect(areaMean(inner(regions.wall))).toBeLessThan(5);
});

/** Nearly normal noise: twelve even numbers added up. */
function withNoise(image: Uint8Array, sigma: number, seed: number) {
  const random = new Random(seed);
  return image.map((value) => {
    let sum = -1530;
    for (let i = 0; i < 12; ++i) sum += random.whole(0, 255);
    return Math.min(255, Math.max(0, Math.round(value + (sigma * sum) / 256)));
  });
}

/**
 * In the small scene the noise estimate is dominated by texture, so nothing is filtered; in the scene that is nearly
 * all wall it is correct.
 */
const SMALL = [320, 120, 130] as const;
const WALL = [640, 240, 580] as const;

test.each([
  [2, 0.25, ...SMALL],
  [3, 0.2, ...SMALL],
  [4, 0.2, ...SMALL],
  [2, 0.1, ...WALL],
  [3, 0.1, ...WALL],
  [4, 0.1, ...WALL],
  [6, 0.1, ...WALL],
  [10, 0.1, ...WALL],
])("noise of sigma %d on a bare wall is no texture: at most %d of it is believed, %dx%d", async (...of) => {
  const [sigma, share, width, height, wallEnd] = of;
  const { left, right, regions } = room(width, height, wallEnd);
  const pair = [withNoise(left, sigma, 1), withNoise(right, sigma, 2)] as const;
  const { confidence } = await computed(...pair, width, height);
  const { x0, x1, y0, y1 } = regions.wall;
  let believed = 0;
  for (let y = y0 + 5; y < y1 - 5; ++y) {
    for (let x = x0 + 10; x < x1 - 10; ++x) believed += confidence[y * width + x]! > 128 ? 1 : 0;
  }
  expect(believed / ((y1 - y0 - 10) * (x1 - x0 - 20))).toBeLessThan(share);
  // The textured room next to it is believed with the same noise.
  expect(confidence[60 * width + width - 35]).toBeGreaterThan(200);
});

test.each([0.5, 1, 1.5])("a wall in a room, with noise of sigma %d, is reported as unsure", async (sigma) => {
  const [width, height, wallEnd] = SMALL;
  const { left, right, regions } = room(width, height, wallEnd);
  const pair = [withNoise(left, sigma, 1), withNoise(right, sigma, 2)] as const;
  for (const set of [[], ["match.denoise=off"], ["match.algorithm=sad"]]) {
    const { confidence } = await computed(...pair, width, height, set);
    const { x0, x1, y0, y1 } = regions.wall;
    let [sum, pixels] = [0, 0];
    for (let y = y0 + 10; y < y1 - 10; ++y) {
      for (let x = x0 + 14; x < x1 - 14; ++x, ++pixels) sum += confidence[y * width + x]!;
    }
    expect(sum / pixels, set.join(" ")).toBeLessThan(60);
    expect(confidence[60 * width + width - 35], "the room next to it").toBeGreaterThan(200);
  }
});

/** A field of a room at disparity 16 that stands at 24 and shows its own value by column and row. */
function fieldInRoom(value: (x: number, y: number) => number) {
  const [width, height] = [400, 200];
  const random = new Random(7);
  const texture = random.fill(new Uint8Array((width + 64) * height), 0, 255);
  const within = (x: number, y: number) => x >= 130 && x < 290 && y >= 30 && y < 170;
  const picture = (disparity: (inField: boolean) => number) =>
    Uint8Array.from({ length: width * height }, (_, i) => {
      const [x, y] = [i % width, Math.floor(i / width)];
      const at = x + disparity(true);
      return within(at, y) ? value(at - 130, y - 30) : texture[y * (width + 64) + x + disparity(false)]!;
    });
  const left = picture(() => 0);
  const right = picture((inField) => (inField ? 24 : 16));
  const inner: number[] = [];
  for (let y = 40; y < 160; ++y) for (let x = 150; x < 270; ++x) inner.push(y * width + x);
  return { left, right, width, height, inner };
}

test.each([4, 6, 8, 13, 20])(
  "slats of %d columns have a low confidence at every disparity",
  async (period) => {
    for (const sigma of [0, 1, 2]) {
      const { left, right, width, height, inner } = fieldInRoom(
        (x) => 60 + Math.round(60 * (1 + Math.sin((2 * Math.PI * x) / period))),
      );
      const pair = [withNoise(left, sigma, 1), withNoise(right, sigma, 2)] as const;
      for (const set of [[], ["match.denoise=off"]]) {
        const { confidence } = await computed(...pair, width, height, set);
        const mean = inner.reduce((sum, at) => sum + confidence[at]!, 0) / inner.length;
        expect(mean, `sigma ${sigma} ${set.join(" ")}`).toBeLessThan(20);
        expect(confidence[100 * width + width - 40], "the room next to it").toBeGreaterThan(200);
      }
    }
  },
);

test("a field with its own texture has a high confidence", async () => {
  const random = new Random(11);
  const texture = random.fill(new Uint8Array(160 * 140), 60, 180);
  const { left, right, width, height, inner } = fieldInRoom((x, y) => texture[y * 160 + x]!);
  const { confidence } = await computed(left, right, width, height);
  expect(inner.reduce((sum, at) => sum + confidence[at]!, 0) / inner.length).toBeGreaterThan(240);
});

/** Pixels of the left image whose 11 x 11 surroundings are of one grey value. */
function ofOneGrey(image: Uint8Array, width: number) {
  const height = image.length / width;
  const found: number[] = [];
  for (let y = 5; y < height - 5; ++y) {
    for (let x = 5; x < width - 5; ++x) {
      let same = true;
      for (let k = 0; same && k < 121; ++k) {
        same = image[(y - 5 + Math.floor(k / 11)) * width + x - 5 + (k % 11)] === image[y * width + x];
      }
      if (same) found.push(y * width + x);
    }
  }
  return found;
}

test.each([
  [0, 0.05],
  [1, 0.2],
  [3, 0.1],
])("walls of the bare room, noise of %d: at most %d of them is believed", async (noiseGrey, share) => {
  const [width, height] = [480, 360];
  const drawn = async (options: { view: "ideal" | "rectified"; noiseGrey: number }) => {
    const renderer = new SceneRenderer(native, { width, height, room: "bare", ...options });
    try {
      return await renderer.frame(20);
    } finally {
      renderer.close();
    }
  };
  const walls = ofOneGrey((await drawn({ view: "ideal", noiseGrey: 0 })).left.data as Uint8Array, width);
  expect(walls.length).toBeGreaterThan(0.25 * width * height);
  const { left, right } = await drawn({ view: "rectified", noiseGrey });
  const { confidence } = await computed(left.data as Uint8Array, right.data as Uint8Array, width, height);
  const believed = walls.filter((at) => confidence[at]! > 128).length;
  expect(believed / walls.length).toBeLessThan(share);
  // The floor, which has texture, is believed.
  const floor = Array.from({ length: 200 }, (_, i) => confidence[330 * width + 140 + i]!);
  expect(floor.filter((value) => value > 200).length).toBeGreaterThan(150);
});

test("what was matched is above 0, what was filled is 0, and matchedPixels counts it", async () => {
  const [width, height] = [320, 120];
  const { left, right } = room(width, height);
  const filled = await computed(left, right, width, height);
  const kept = await computed(left, right, width, height, ["refine.fill=off"]);
  const above = (image: Uint8Array) => image.reduce((count, value) => count + (value > 0 ? 1 : 0), 0);
  for (const [i, d] of kept.disparityQ4.entries()) {
    expect(kept.confidence[i]! > 0, `pixel ${i}`).toBe(d !== INVALID);
    expect(filled.confidence[i], `pixel ${i}`).toBe(kept.confidence[i]);
  }
  expect(kept.result.matchedPixels).toBe(kept.result.validPixels);
  expect(filled.result.matchedPixels).toBe(above(filled.confidence));
  expect(filled.result.matchedPixels).toBeLessThan(filled.result.validPixels);
});

test("what cbca estimated between its control points counts as valid, not as matched", async () => {
  const [width, height] = [320, 120];
  const { left, right } = room(width, height);
  const { confidence, disparityQ4, result } = await computed(left, right, width, height, [
    "match.algorithm=cbca",
    "match.halfResolution=false",
    "refine.fill=off",
  ]);
  const matched = confidence.reduce((count, value) => count + (value > 0 ? 1 : 0), 0);
  expect(result.validPixels).toBe(disparityQ4.reduce((count, d) => count + (d !== INVALID ? 1 : 0), 0));
  expect(result.matchedPixels).toBe(matched);
  // In the strip that only the left camera sees no match can be confirmed from both sides.
  for (let y = 0; y < height; ++y) expect(confidence[y * width + 4]).toBe(0);
  expect(matched).toBeLessThan(0.97 * result.validPixels);
  expect(matched).toBeGreaterThan(0.5 * result.validPixels);
});

for (const set of ["midd_v2", "midd_2005_2006_third", "kitti2015"]) {
  needsData(set).suite(`confidence on ${set}`, (folder) => {
    test("the share within the threshold of the set grows with the confidence", async () => {
      const bounds = [160, 200, 235, 256];
      const [pixels, within] = [bounds.map(() => 0), bounds.map(() => 0)];
      const { config } = loadConfig({});
      const matcher = engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });
      for (const entry of await readDataset(folder)) {
        const scene = await readScene(entry);
        const { disparityQ4, confidence } = await matcher(scene);
        for (const [i, truth] of scene.truth.entries()) {
          if (!Number.isFinite(truth) || confidence![i]! < bounds[0]!) continue;
          const bin = bounds.findIndex((bound) => confidence![i]! < bound);
          pixels[bin]! += 1;
          if (Math.abs(disparityQ4[i]! / 16 - truth) <= scene.badThresholdPx) within[bin]! += 1;
        }
      }
      const shares = bounds.slice(1).map((_, i) => within[i + 1]! / pixels[i + 1]!);
      expect([...shares].sort((a, b) => a - b)).toEqual(shares);
      expect(shares.at(-1)! - shares[0]!).toBeGreaterThan(0.03);
    }, 120_000);
  });
}
