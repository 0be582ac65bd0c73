// SPDX-License-Identifier: Apache-2.0
// The synthetic scene: its truth against geometry worked out here, against its pictures and against itself; its sensors
// against their description; its frame numbers through everything that happens to a picture on its way.
import { createHash } from "node:crypto";
import sharp from "sharp";
import { afterAll, describe, expect, test } from "vitest";
import {
  buildMap,
  decodeGreyImage,
  type GreyImage,
  readFrameIndex,
  rectify,
  SCENE_BASELINE_METRES,
  SCENE_ROOMS,
  type SceneOptions,
  SceneRenderer,
  type SceneView,
  sceneCalibration,
  sceneView,
  truthView,
} from "../../camera/index.js";
import { boardCrc } from "../../camera/scene/frame-index.js";
import { loadNative } from "../../edge/contracts/native.js";

const renderers: SceneRenderer[] = [];
function renderer(options: SceneOptions): SceneRenderer {
  const made = new SceneRenderer(loadNative(), options);
  renderers.push(made);
  return made;
}
afterAll(() => {
  for (const one of renderers) one.close();
});

const bytes = (image: GreyImage) => image.data as Uint8Array;
const board = (image: GreyImage) => ({ data: bytes(image), width: image.width, height: image.height });

/** Bilinear grey at (x, y); NaN outside. */
function greyAt(image: GreyImage, x: number, y: number): number {
  const x0 = Math.floor(x);
  const y0 = Math.floor(y);
  if (x0 < 0 || y0 < 0 || x0 + 1 >= image.width || y0 + 1 > image.height - 1 + (y === y0 ? 1 : 0))
    return Number.NaN;
  const at = (column: number, row: number) =>
    image.data[Math.min(row, image.height - 1) * image.width + column]!;
  const top = at(x0, y0) + (at(x0 + 1, y0) - at(x0, y0)) * (x - x0);
  const bottom = at(x0, y0 + 1) + (at(x0 + 1, y0 + 1) - at(x0, y0 + 1)) * (x - x0);
  return top + (bottom - top) * (y - y0);
}

/** Median |left - right at x - disparity| over visible pixels, with the right camera brought to the left camera's gain. */
function warpError(
  left: GreyImage,
  right: GreyImage,
  disparity: Float32Array,
  visible: GreyImage,
  shift = 0,
  gain = 1,
  offset = 0,
): { median: number; p90: number } {
  const errors: number[] = [];
  for (let y = 0; y < left.height; y++) {
    for (let x = 0; x < left.width; x++) {
      const i = y * left.width + x;
      if (visible.data[i] === 0) continue;
      const other = greyAt(right, x - disparity[i]! + shift, y);
      if (!Number.isNaN(other)) errors.push(Math.abs(left.data[i]! - (other - offset) / gain));
    }
  }
  // A typed array is sorted without a call for each comparison.
  const sorted = Float64Array.from(errors).sort();
  return { median: sorted[sorted.length >> 1]!, p90: sorted[Math.floor(sorted.length * 0.9)]! };
}

/** A picture through a rectification map of 1/32 px. */
function remap(image: GreyImage, map: Int32Array, width: number, height: number): GreyImage {
  const source = bytes(image);
  const data = new Uint8Array(width * height);
  for (let i = 0; i < data.length; i++) {
    const [x, y] = [map[2 * i]!, map[2 * i + 1]!];
    const [column, row] = [x >> 5, y >> 5];
    if (column < 0 || row < 0 || column + 1 >= image.width || row + 1 >= image.height) continue;
    const at = row * image.width + column;
    const top = source[at]! * (32 - (x & 31)) + source[at + 1]! * (x & 31);
    const below = at + image.width;
    const bottom = source[below]! * (32 - (x & 31)) + source[below + 1]! * (x & 31);
    data[i] = Math.round((top * (32 - (y & 31)) + bottom * (y & 31)) / 1024);
  }
  return { data, width, height };
}

test("a small frame is the bytes that every build of the renderer gives (scene-bits.test.ts)", async () => {
  const { left, right } = await renderer({ width: 96, height: 64 }).frame(3);
  const hash = createHash("sha256").update(bytes(left)).update(bytes(right)).digest("hex");
  expect(hash).toBe("2ebcdb6fed692668b23f964682977d1c8811bb388e911d68f738490e7cdf3d0a");
});

test("every room, in grey and in colours, from another pose and for a third camera: the bytes that were looked at", async () => {
  const hashes: Record<string, string> = {};
  for (const [at, room] of SCENE_ROOMS.entries()) {
    const size = { width: 160, height: 120 };
    const pose = { heightMetres: 1.1, pitchDegrees: 20, rollDegrees: 3 };
    const options = { ...size, room, colours: at % 2 === 0, other: true, ...(at % 3 === 1 && { pose }) };
    const scene = renderer(options);
    const { left, right } = await scene.frame(40 + at);
    const view = sceneView(80, 60);
    const [a, b] = [scene.truth(40 + at, "left", view), scene.truth(40 + at, "right", view)];
    const depth = scene.depthOf(40 + at, sceneCalibration({ ...options, width: 80, height: 60 }).others![0]!);
    const hash = createHash("sha256");
    const images = [left, right, await scene.otherFrame(40 + at), depth];
    for (const { data } of [...images, a.disparity, a.visible, b.disparity, b.visible])
      hash.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    hashes[room] = hash.digest("hex").slice(0, 16);
  }
  expect(hashes).toEqual({
    furnished: "2c89e042ea2c2c53",
    bare: "785ea37ca3e7b0df",
    stairs: "a8d8debb6387c1d4",
    glossy: "00b11eb36dbf3b41",
    tiles: "f5398818b27a69ad",
    poster: "ea856edb34c726da",
  });
});

describe("truth", () => {
  const size = { width: 320, height: 240 };
  const view = sceneView(size.width, size.height);
  const ideal = renderer({ ...size, view: "ideal" });

  test("disparity is focal length times baseline over depth, on surfaces whose depth is worked out here", () => {
    const { disparity, visible } = ideal.truth(0, "left", view);
    // The cameras look down by atan(1/5); the floor lies 1.3 m below them, the back wall 5.7 m in front.
    const sin = 1 / Math.sqrt(26);
    const cos = 5 / Math.sqrt(26);
    const expected = (y: number, planeDepth: (v: number) => number) =>
      (view.focalPixels * 0.12) / planeDepth((y - view.cy) / view.focalPixels);
    const at = (x: number, y: number) => disparity.data[y * size.width + x]!;
    const floor = (v: number) => 1.3 / (cos * v + sin);
    const wall = (v: number) => 5.7 / (cos - sin * v);
    for (const [x, y] of [
      [12, 239],
      [160, 239],
      [300, 239],
      [40, 225],
    ] as const) {
      expect(at(x, y) / expected(y, floor)).toBeCloseTo(1, 6);
    }
    for (const [x, y] of [
      [100, 8],
      [135, 60],
      [180, 20],
    ] as const) {
      expect(at(x, y) / expected(y, wall)).toBeCloseTo(1, 6);
    }
    // The board hangs 5 m away.
    expect(at(30, 16)).toBe(Math.fround((view.focalPixels * 0.12) / 5));
    expect(visible.data[16 * size.width + 30]).toBe(255);
    // The right camera cannot see pixels left of its image's edge.
    expect(visible.data[120 * size.width]).toBe(0);
  });

  test.each([0, 63, 200])(
    "frame %i: the right image, moved by the disparity, is the left one where both see",
    async (n) => {
      const { left, right } = await ideal.frame(n);
      const { disparity, visible } = ideal.truth(n, "left", view);
      const good = warpError(left, right, disparity.data, visible);
      expect(good.median).toBeLessThanOrEqual(1);
      expect(good.p90).toBeLessThan(6);
      // The test can fail: half a pixel off is seen.
      for (const shift of [-0.5, 0.5]) {
        expect(warpError(left, right, disparity.data, visible, shift).median).toBeGreaterThan(
          1.5 * good.median,
        );
      }
    },
  );

  test("visibility is the z test: each camera's map, looked up from the other camera, reports the same", () => {
    for (const [own, other, sign] of [
      ["left", "right", -1],
      ["right", "left", 1],
    ] as const) {
      const mine = ideal.truth(63, own, view);
      const theirs = ideal.truth(63, other, view);
      let checked = 0;
      let wrong = 0;
      let hidden = 0;
      for (let y = 0; y < size.height; y++) {
        for (let x = 0; x < size.width; x++) {
          const d = mine.disparity.data[y * size.width + x]!;
          const seenAt = x + sign * d;
          const inside = seenAt >= 0 && seenAt <= size.width - 1;
          const x0 = Math.floor(seenAt);
          // The other camera's map at both neighbours of the place; where these are two surfaces, the pixel cannot judge.
          const a = theirs.disparity.data[y * size.width + x0];
          const b = theirs.disparity.data[y * size.width + Math.min(x0 + 1, size.width - 1)];
          if (inside && Math.abs(a! - b!) > 0.3) continue;
          const nearest = inside ? a! + (b! - a!) * (seenAt - x0) : Number.NaN;
          const visible = inside && nearest <= d + 0.3;
          checked++;
          if (!visible) hidden++;
          if (visible !== (mine.visible.data[y * size.width + x] === 255)) wrong++;
        }
      }
      expect(checked).toBeGreaterThan(0.93 * size.width * size.height);
      expect(hidden).toBeGreaterThan(0.02 * checked);
      expect(wrong / checked).toBeLessThan(0.002);
    }
  });

  test("nothing comes nearer than a tenth of the width, in any phase of any motion", () => {
    const small = sceneView(64, 48);
    let max = 0;
    for (let n = 0; n < 960; n += 5) {
      for (const value of ideal.truth(n, "left", small).disparity.data) max = Math.max(max, value);
    }
    expect(max).toBeLessThan(6.4);
    expect(max).toBeGreaterThan(4);
  });

  test("things move: two frames differ in truth and in picture", async () => {
    const [a, b] = [ideal.truth(0, "left", view), ideal.truth(7, "left", view)];
    const moved = a.disparity.data.filter((value, i) => value !== b.disparity.data[i]).length;
    expect(moved).toBeGreaterThan(0.005 * a.disparity.data.length);
    expect(moved).toBeLessThan(0.2 * a.disparity.data.length);
  });
});

describe("cameras", () => {
  const size = { width: 320, height: 240 };
  const raw = renderer({ ...size, view: "raw" });

  test("calibration and pictures agree: rectified by it, the pair fits the truth of that view", async () => {
    const calibration = sceneCalibration({ ...size, view: "raw" });
    const rectification = rectify(calibration);
    const view = truthView({ ...size, view: "raw" });
    expect(view).toEqual({
      ...size,
      focalPixels: rectification.focalPixels,
      cx: rectification.cx,
      cy: rectification.cy,
    } satisfies SceneView);
    const { left, right } = await raw.frame(63);
    const maps = {
      left: buildMap(calibration.left, rectification.R1, rectification.P1, size, size),
      right: buildMap(calibration.right, rectification.R2, rectification.P2, size, size),
    };
    const a = remap(left, maps.left, size.width, size.height);
    const b = remap(right, maps.right, size.width, size.height);
    const { disparity, visible } = raw.truth(63, "left", view);
    const good = warpError(a, b, disparity.data, visible, 0, 0.93, 3);
    expect(good.median).toBeLessThan(2.5);
    for (const shift of [-0.75, 0.75]) {
      expect(warpError(a, b, disparity.data, visible, shift, 0.93, 3).median).toBeGreaterThan(
        1.15 * good.median,
      );
    }
    // Unrectified, the same truth does not fit: the lenses and the turned cameras are really there.
    expect(warpError(left, right, disparity.data, visible, 0, 0.93, 3).median).toBeGreaterThan(
      2 * good.median,
    );
    // And rectification has brought them into the scene's own axes.
    expect(rectification.baselineMetres).toBeCloseTo(0.12, 9);
  });

  test("noise, gain and offset are what the setup says", async () => {
    const clean = renderer({ ...size, view: "rectified", noiseGrey: 0 });
    const noisy = renderer({ ...size, view: "rectified", noiseGrey: 2 });
    const ideal = renderer({ ...size, view: "ideal" });
    const [a, b, c] = [await clean.frame(5), await noisy.frame(5), await ideal.frame(5)];
    const deviation = (low: number, high: number) => {
      let sum = 0;
      let count = 0;
      for (let i = 0; i < a.left.data.length; i++) {
        if (a.left.data[i]! < low || a.left.data[i]! > high) continue;
        sum += (b.left.data[i]! - a.left.data[i]!) ** 2;
        count++;
      }
      expect(count).toBeGreaterThan(500);
      return Math.sqrt(sum / count);
    };
    // 2 grey levels in the dark, 1.8 times that at 255; rounding adds 1/12 + 1/12.
    const expected = (grey: number) => Math.hypot(2 * (1 + (0.8 * grey) / 255), Math.sqrt(1 / 6));
    expect(deviation(15, 45) / expected(30)).toBeCloseTo(1, 1);
    expect(deviation(185, 215) / expected(200)).toBeCloseTo(1, 1);
    // At the picture's middle there is no vignetting.
    const at = (size.height >> 1) * size.width + (size.width >> 1);
    for (let i = at - 20; i < at + 20; i++) {
      expect(Math.abs(a.right.data[i]! - (0.93 * c.right.data[i]! + 3))).toBeLessThanOrEqual(1.5);
      expect(Math.abs(a.left.data[i]! - c.left.data[i]!)).toBeLessThanOrEqual(1);
    }
    const next = await noisy.frame(6);
    expect(next.left.data.filter((value, i) => value !== b.left.data[i]).length).toBeGreaterThan(0.5 * at);
  });

  test("a frame is the same in every order of drawing; another seed is another picture", async () => {
    const first = await raw.frame(11);
    await raw.frame(400);
    expect(Buffer.compare(bytes(first.left), bytes((await raw.frame(11)).left))).toBe(0);
    const other = await renderer({ ...size, view: "raw", seed: 2 }).frame(11);
    expect(Buffer.compare(bytes(first.left), bytes(other.left))).not.toBe(0);
  });

  test("any size: odd, tiny, wider than a noise row's step", async () => {
    for (const [width, height] of [
      [16, 16],
      [17, 33],
      [643, 35],
    ] as const) {
      const { left, right } = await renderer({ width, height }).frame(1);
      expect([left.data.length, right.data.length]).toEqual([width * height, width * height]);
      expect(new Set(left.data).size).toBeGreaterThan(10);
    }
  });

  test("refusals name the value", () => {
    const make = (options: SceneOptions) => () => new SceneRenderer(loadNative(), options);
    expect(make({ width: 8 })).toThrow(/from 16 to 16384 for width, got 8/);
    expect(make({ noiseGrey: 9 })).toThrow(/noiseGrey from 0 to 8.*9/);
    expect(make({ noiseGrey: Number.NaN })).toThrow(/noiseGrey/);
    expect(make({ seed: -1 })).toThrow(expect.objectContaining({ code: "ENGINE_PARAMETER" }));
  });
});

describe("the frame number in the pixels", () => {
  test("crc by hand: 0 gives 0, 1 gives the polynomial, 2 twice that", () => {
    expect([boardCrc(0), boardCrc(1), boardCrc(2), boardCrc(3)]).toEqual([0, 7, 14, 9]);
  });

  test("256 frames of raw 320x240 pictures, both images", async () => {
    const raw = renderer({ width: 320, height: 240 });
    const wrong: number[] = [];
    for (let n = 0; n < 256; n++) {
      const { left, right } = await raw.frame(n);
      if (readFrameIndex(board(left)) !== n || readFrameIndex(board(right)) !== n) wrong.push(n);
    }
    expect(wrong).toEqual([]);
  });

  test("strong noise, JPEG, rectification, numbers up to 2^24, sizes from 160x120 to 1280x720", async () => {
    for (const [width, height] of [
      [160, 120],
      [640, 480],
      [752, 480],
      [1280, 720],
    ] as const) {
      const raw = renderer({ width, height, noiseGrey: 6 });
      const calibration = sceneCalibration({ width, height });
      const { R1, R2, P1, P2 } = rectify(calibration);
      const maps = [
        buildMap(calibration.left, R1, P1, { width, height }, { width, height }),
        buildMap(calibration.right, R2, P2, { width, height }, { width, height }),
      ];
      // The large ones take most of the time.
      const numbers = width < 640 ? [0, 1, 255, 65_535, 11_184_810, 16_777_215] : [11_184_810];
      for (const n of numbers) {
        const { left, right } = await raw.frame(n);
        for (const [side, image] of [left, right].entries()) {
          const name = `${width}x${height} frame ${n} camera ${side}`;
          expect(readFrameIndex(board(image)), name).toBe(n);
          expect(readFrameIndex(board(remap(image, maps[side]!, width, height))), `${name} rectified`).toBe(
            n,
          );
          if (width < 640) continue;
          const jpeg = await sharp(bytes(image), { raw: { width, height, channels: 1 } })
            .jpeg({ quality: 70 })
            .toBuffer();
          expect(readFrameIndex(board(await decodeGreyImage(jpeg, "x"))), `${name} JPEG`).toBe(n);
        }
      }
    }
  });

  test("rows longer than the picture", async () => {
    const { left } = await renderer({ width: 320, height: 240 }).frame(77);
    const data = new Uint8Array(352 * 240).fill(99);
    for (let y = 0; y < 240; y++) data.set(bytes(left).subarray(y * 320, (y + 1) * 320), y * 352);
    expect(readFrameIndex({ data, width: 320, height: 240, strideBytes: 352 })).toBe(77);
  });

  test("pictures without a board have no number", async () => {
    const noise = { data: new Uint8Array(320 * 240), width: 320, height: 240 };
    let state = 7;
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < noise.data.length; i++) {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        noise.data[i] = state >>> 24;
      }
      expect(readFrameIndex(noise)).toBeUndefined();
    }
    const { left } = await renderer({ width: 320, height: 240 }).frame(3);
    const turned = { ...board(left), data: bytes(left).slice().reverse() };
    expect(readFrameIndex(turned)).toBeUndefined();
    const painted = board(left);
    painted.data.fill(30, 0, 320 * 60);
    expect(readFrameIndex(painted)).toBeUndefined();
  });
});

describe("hard rooms", () => {
  const [width, height] = [320, 240];
  const ideal = { width, height, view: "ideal", noiseGrey: 0 } as const;

  test("the glossy floor shows the back wall where a mirror would", async () => {
    const view = sceneView(width, height);
    const furnished = (await renderer({ ...ideal }).frame(0)).left;
    const glossy = renderer({ ...ideal, room: "glossy" });
    const { left } = await glossy.frame(0);
    const truth = glossy.truth(0, "left", view).disparity.data;
    // The cameras look down by atan(1/5) from 1.3 m above the floor; the back wall is at 5.7 m.
    const [cos, sin] = [5 / Math.sqrt(26), 1 / Math.sqrt(26)];
    const errors: number[] = [];
    const otherRow: number[] = [];
    for (let y = 150; y < height; y += 2) {
      for (let x = 4; x < width - 4; x += 2) {
        const [u, v] = [(x - view.cx) / view.focalPixels, (y - view.cy) / view.focalPixels];
        const [down, ahead] = [cos * v + sin, cos - sin * v];
        const depth = 1.3 / down;
        const onFloor = (view.focalPixels * SCENE_BASELINE_METRES) / depth;
        if (Math.abs(truth[y * width + x]! - onFloor) > 0.003 * onFloor) continue;
        // After the floor the ray climbs as fast as it fell.
        const t = 5.7 / ahead;
        const [wallX, wallY] = [u * t, 1.3 - (t - depth) * down];
        const z = cos * 5.7 + sin * wallY;
        const [wu, wv] = [wallX / z, (cos * wallY - sin * 5.7) / z];
        const wall = greyAt(left, view.cx + view.focalPixels * wu, view.cy + view.focalPixels * wv);
        const mirrored = (left.data[y * width + x]! - 0.55 * furnished.data[y * width + x]!) / 0.45;
        if (Number.isNaN(wall)) continue;
        errors.push(Math.abs(mirrored - wall));
        otherRow.push(Math.abs(mirrored - greyAt(left, view.cx + view.focalPixels * wu, height - 4)));
      }
    }
    const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
    expect(errors.length).toBeGreaterThan(500);
    expect(median(errors)).toBeLessThan(12);
    expect(median(otherRow)).toBeGreaterThan(2 * median(errors));
  });

  test("tiles repeat, and the poster hangs on walls of one grey value", async () => {
    const tiles = (await renderer({ ...ideal, room: "tiles" }).frame(0)).left;
    const poster = (await renderer({ ...ideal, room: "poster" }).frame(0)).left;
    const equalNeighbours = (image: GreyImage) => {
      let equal = 0;
      for (let y = 60; y < 110; ++y)
        for (let x = 1; x < width; ++x)
          equal += image.data[y * width + x] === image.data[y * width + x - 1] ? 1 : 0;
      return equal / (50 * (width - 1));
    };
    expect(equalNeighbours(poster)).toBeGreaterThan(0.5);
    // The back wall's joints are 0.2 m apart: 0.2 f / 5.7 pixels in its middle row.
    const period = (0.2 * sceneView(width, height).focalPixels) / 5.7;
    const row = Array.from({ length: 120 }, (_, i) => tiles.data[(height >> 2) * width + 110 + i]!);
    const apart = (shift: number) => {
      let sum = 0;
      for (let i = 0; i + shift < row.length; ++i) sum += Math.abs(row[i]! - row[i + Math.round(shift)]!);
      return sum / (row.length - shift);
    };
    expect(apart(Math.round(period * 3))).toBeLessThan(0.6 * apart(Math.round(period * 2.5)));
  });
});
