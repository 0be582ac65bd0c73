// SPDX-License-Identifier: Apache-2.0
// Pairs of the synthetic scene whose right camera has turned by a known angle, and pairs that were mounted wrongly.
import { describe, expect, test } from "vitest";
import { greyPairLayout, type SceneOptions, SceneRenderer, sceneCalibration } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { rectifiedGeometry, uncalibrated } from "../../edge/pipeline/geometry.js";
import { type CapturedPair, Examiner } from "../../edge/rig/health/examine.js";
import { lookGeometryFrom } from "../../edge/rig/health/look-options.js";

const WIDTH = 640;
const HEIGHT = 480;
const LIMITS = { maxRows: 0.75, maxDegrees: 0.08 };

async function scenePairs(
  options: SceneOptions,
  frames: readonly number[] = [0, 40],
): Promise<CapturedPair[]> {
  const renderer = new SceneRenderer(loadNative(), { width: WIDTH, height: HEIGHT, ...options });
  const pairs = [];
  for (const frame of frames) {
    const { left, right } = await renderer.frame(frame);
    pairs.push({ left: left.data as Uint8Array, right: right.data as Uint8Array });
  }
  renderer.close();
  return pairs;
}

const calibrated = rectifiedGeometry(sceneCalibration({ width: WIDTH, height: HEIGHT }), 0);

function examine(pairs: readonly CapturedPair[], geometry = calibrated) {
  const examiner = new Examiner(greyPairLayout(WIDTH, HEIGHT), lookGeometryFrom(geometry));
  for (const pair of pairs) examiner.add(pair);
  return examiner.finish(LIMITS);
}

type Place = (x: number, y: number) => number;
function moved(image: Uint8Array, from: Place): Uint8Array {
  return image.map((_, i) => image[from(i % WIDTH, Math.floor(i / WIDTH))]!);
}
const acrossFlip: Place = (x, y) => y * WIDTH + WIDTH - 1 - x;
const turnedRound: Place = (x, y) => (HEIGHT - 1 - y) * WIDTH + WIDTH - 1 - x;
const downFlip: Place = (x, y) => (HEIGHT - 1 - y) * WIDTH + x;

/** A box of 9x9, twice: a lens far out of focus. */
function blurred(image: Uint8Array): Uint8Array {
  let now = Float32Array.from(image);
  for (const step of [1, WIDTH, 1, WIDTH]) {
    const next = new Float32Array(now.length);
    for (let i = 0; i < now.length; i++) {
      let sum = 0;
      for (let k = -4; k <= 4; k++) sum += now[Math.min(now.length - 1, Math.max(0, i + k * step))]!;
      next[i] = sum / 9;
    }
    now = next;
  }
  return Uint8Array.from(now);
}

describe("a camera that has turned", () => {
  test("a rig as it was calibrated", async () => {
    const { figures, problem } = examine(await scenePairs({}));
    expect(problem).toBeUndefined();
    expect(figures!.rows.p95).toBeLessThan(0.15);
    expect(figures!.rotationDegrees.total).toBeLessThan(0.02);
    expect(Math.abs(figures!.scalePercent)).toBeLessThan(0.05);
  });

  test.each([
    [0.05, 0, 0],
    [0, 0.1, 0],
    [0, 0, -0.1],
    [-0.2, 0.2, 0.2],
    [0.5, 0, 0],
    [0, 0, 0.5],
  ] as const)("by %d, %d and %d degrees about x, y and z", async (pitch, yaw, roll) => {
    const { figures, problem } = examine(await scenePairs({ turnedDegrees: [pitch, yaw, roll] }));
    expect(Math.abs((figures!.rotationDegrees.pitch as number) - pitch)).toBeLessThan(0.02);
    expect(Math.abs((figures!.rotationDegrees.yaw as number) - yaw)).toBeLessThan(0.03);
    expect(Math.abs(figures!.rotationDegrees.roll - roll)).toBeLessThan(0.02);
    expect(problem?.code).toBe(Math.hypot(pitch, yaw, roll) > 0.08 ? "RIG_MOVED" : undefined);
  });

  test("a lens whose focal length is 1 % longer than it was", async () => {
    const calibration = sceneCalibration({ width: WIDTH, height: HEIGHT });
    const [fx, , cx, , fy, cy] = calibration.right.K;
    const K = [fx / 1.01, 0, cx, 0, fy / 1.01, cy, 0, 0, 1] as const;
    const shorter = { ...calibration, right: { ...calibration.right, K } };
    const { figures } = examine(await scenePairs({}), rectifiedGeometry(shorter, 0));
    expect(figures!.scalePercent).toBeGreaterThan(0.85);
    expect(figures!.scalePercent).toBeLessThan(1.15);
  });

  test("without a calibration what needs the focal length is unavailable, never 0", async () => {
    const { figures } = examine(await scenePairs({ view: "ideal" }), uncalibrated(WIDTH, HEIGHT));
    const { pitch, yaw, roll } = figures!.rotationDegrees;
    for (const angle of [pitch, yaw, figures!.focalPixels])
      expect(angle).toMatchObject({ available: false, reason: expect.stringContaining("calibration") });
    expect(Math.abs(roll)).toBeLessThan(0.02);
  });
});

describe("pairs that say nothing, or nothing good", () => {
  const raw = scenePairs({});
  const ideal = scenePairs({ view: "ideal" });

  const each = async (pairs: Promise<CapturedPair[]>, change: (pair: CapturedPair) => CapturedPair) =>
    (await pairs).map(change);

  test("swapped, of calibrated cameras", async () => {
    const { problem, figures } = examine(
      await each(raw, ({ left, right }) => ({ left: right, right: left })),
    );
    expect(problem?.code).toBe("PAIR_SWAPPED");
    expect(figures).toBeUndefined();
  });

  test("swapped, of rectified images", async () => {
    const pairs = await each(ideal, ({ left, right }) => ({ left: right, right: left }));
    expect(examine(pairs, uncalibrated(WIDTH, HEIGHT)).problem?.code).toBe("PAIR_SWAPPED");
  });

  test.each([
    ["right", "mirrored", acrossFlip],
    ["left", "mirrored", acrossFlip],
    ["right", "upside down", turnedRound],
    ["left", "upside down", turnedRound],
  ] as const)("the %s image is %s", async (side, how, from) => {
    const pairs = await each(raw, (pair) => ({ ...pair, [side]: moved(pair[side], from) }));
    const { problem, figures } = examine(pairs);
    expect(problem).toMatchObject({ code: "PAIR_MIRRORED", text: `the ${side} image is ${how}` });
    expect(figures).toBeUndefined();
  });

  test("an image is mirrored top to bottom", async () => {
    const pairs = await each(raw, (pair) => ({ ...pair, right: moved(pair.right, downFlip) }));
    expect(examine(pairs).problem?.code).toBe("PAIR_MIRRORED");
  });

  test.each(["left", "right"] as const)("the %s camera is out of focus", async (side) => {
    const { problem } = examine(await each(raw, (pair) => ({ ...pair, [side]: blurred(pair[side]) })));
    expect(problem?.code).toBe("PAIR_BLURRED");
    expect(problem?.text).toContain(`the ${side} image is out of focus`);
  });

  test("flat images", async () => {
    const flat = new Uint8Array(WIDTH * HEIGHT).fill(120);
    expect(examine([{ left: flat, right: flat }]).problem).toMatchObject({
      code: "PAIR_FEATURELESS",
      text: expect.stringContaining("both images are flat"),
    });
    const [{ left }] = (await raw) as [CapturedPair];
    expect(examine([{ left, right: flat }]).problem?.text).toContain("the right image is flat");
  });

  test("a picture and noise", async () => {
    const [{ left }] = (await raw) as [CapturedPair];
    const noise = new Uint8Array(WIDTH * HEIGHT);
    for (let i = 0, state = 1; i < noise.length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      noise[i] = state >>> 24;
    }
    expect(examine([{ left, right: noise }]).problem?.code).toBe("PAIR_UNRELATED");
  });

  test("images that do not overlap", async () => {
    const [{ left, right }] = (await raw) as [CapturedPair];
    // The right camera's image, shifted by half an image in both directions.
    const away = moved(right, (x, y) => ((y + HEIGHT / 2) % HEIGHT) * WIDTH + ((x + WIDTH / 2) % WIDTH));
    const { problem, figures } = examine([{ left, right: away }]);
    expect(problem?.code).toBe("PAIR_UNRELATED");
    expect(figures).toBeUndefined();
  });
});
