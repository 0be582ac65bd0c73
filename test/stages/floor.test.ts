// SPDX-License-Identifier: Apache-2.0
// Tests the floor with vectors by hand, with rendered rooms, and every fast form against the reference.
import { describe, expect, test } from "vitest";
import { SCENE_BASELINE_METRES, type ScenePose, sceneView } from "../../camera/index.js";
import { floorFigures } from "../../edge/outputs/derived/floor/plane.js";
import { native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.floor as unknown as (call: object) => string;
const NAMES = ["outcome", "a", "b", "c", "known", "on", "below", "under", "squares"] as const;
type Found = Record<(typeof NAMES)[number], number>;

interface View {
  width: number;
  height: number;
  focalPixels: number;
  baselineMetres: number;
  cx: number;
  cy: number;
}

interface Call extends View {
  disparityQ4: Int16Array;
  confidence: Uint8Array;
  before?: Float64Array;
  onlyBefore?: boolean;
}

function find(variant: string, call: Call): Found {
  const floor = new Float64Array(NAMES.length);
  expect(stage({ variant, disparityOffsetPixels: 0, ...call, floor })).toBe(variant);
  return Object.fromEntries(NAMES.map((name, at) => [name, floor[at]!])) as Found;
}

const view: View = { width: 320, height: 240, focalPixels: 250, baselineMetres: 0.2, cx: 160, cy: 120 };

/** The disparity of a floor, and of a wall 6 m ahead. */
function plane(pose: ScenePose, { width, height, focalPixels, baselineMetres, cx, cy }: View = view): Call {
  const [pitch, roll] = [pose.pitchDegrees, pose.rollDegrees].map((angle) => (angle * Math.PI) / 180);
  const [nx, ny, nz] = [
    Math.sin(roll!) * Math.cos(pitch!),
    Math.cos(roll!) * Math.cos(pitch!),
    Math.sin(pitch!),
  ];
  const disparityQ4 = Int16Array.from({ length: width * height }, (_, i) => {
    const [x, y] = [(i % width) - cx, Math.floor(i / width) - cy];
    const floor = (baselineMetres / pose.heightMetres) * (nx * x + ny * y + nz * focalPixels);
    return Math.round(16 * Math.max((focalPixels * baselineMetres) / 6, floor));
  });
  const confidence = new Uint8Array(width * height).fill(200);
  return { width, height, focalPixels, baselineMetres, cx, cy, disparityQ4, confidence };
}

/** Puts one disparity on a rectangle. */
function put({ disparityQ4, width }: Call, x: number, y: number, w: number, h: number, pixels: number): void {
  for (let row = y; row < y + h; row++) disparityQ4.fill(16 * pixels, row * width + x, row * width + x + w);
}

const forms = ["reference", ...variants];
const poseOf = (found: Found, of: View) => floorFigures(found, { ...of, disparityOffsetPixels: 0 });

describe.each(forms)("floor, %s: by hand", (variant) => {
  test("the plane of the README: 0.1 px of disparity a row", () => {
    const small = { width: 64, height: 96, focalPixels: 64, baselineMetres: 0.1, cx: 32, cy: 10 };
    const call = plane({ heightMetres: 1, pitchDegrees: 0, rollDegrees: 0 }, small);
    expect(call.disparityQ4[42 * 64]).toBe(Math.round(16 * 3.2));
    const found = find(variant, call);
    expect(found.outcome).toBe(0);
    expect(found.b / 2 ** 20).toBeCloseTo(0.1, 3);
    expect(found.a / 2 ** 20).toBeCloseTo(0, 3);
  });

  test.each([
    { heightMetres: 1.3, pitchDegrees: 11, rollDegrees: 0 },
    { heightMetres: 0.25, pitchDegrees: 0, rollDegrees: 0 },
    { heightMetres: 2, pitchDegrees: 40, rollDegrees: -12 },
    { heightMetres: 0.7, pitchDegrees: -5, rollDegrees: 9 },
  ])("height, pitch and roll of %j, with a person and two boxes on it", (pose) => {
    const call = plane(pose);
    put(call, 125, 30, 45, 165, 30);
    put(call, 30, 165, 60, 35, 28);
    put(call, 235, 190, 45, 30, 60);
    const figures = poseOf(find(variant, call), view);
    expect(Math.abs(figures.heightMetres - pose.heightMetres)).toBeLessThan(0.02);
    expect(Math.abs(figures.pitchDegrees - pose.pitchDegrees)).toBeLessThan(0.3);
    expect(Math.abs(figures.rollDegrees - pose.rollDegrees)).toBeLessThan(0.3);
  });

  test("without matches, with a wall alone, or in front of a lower level there is no floor", () => {
    const call = plane({ heightMetres: 1, pitchDegrees: 10, rollDegrees: 0 });
    expect(find(variant, { ...call, confidence: new Uint8Array(320 * 240) })).toMatchObject({
      outcome: 1,
      known: 0,
    });
    const wall = { ...call, disparityQ4: new Int16Array(320 * 240).fill(400) };
    expect(find(variant, wall).outcome).toBe(2);
    // A table top covers the lower rows.
    put(call, 0, 205, 320, 35, 60);
    expect(find(variant, call).outcome).toBe(5);
  });

  test("a floor that was set is counted and not fitted; a floor from before stays", () => {
    const call = plane({ heightMetres: 1, pitchDegrees: 10, rollDegrees: 0 });
    const { a, b, c } = find(variant, call);
    const set = Float64Array.of(a, b, c);
    expect(find(variant, { ...call, before: set, onlyBefore: true })).toMatchObject({ outcome: 0, a, b, c });
    const wrong = Float64Array.of(a, 3 * b, c);
    expect(find(variant, { ...call, before: wrong, onlyBefore: true }).outcome).not.toBe(0);
    put(call, 0, 205, 320, 35, 60);
    const kept = find(variant, { ...call, before: set });
    expect(kept.outcome).toBe(0);
    expect(Math.abs(poseOf(kept, view).heightMetres - 1)).toBeLessThan(0.01);
  });
});

test("a floor in rendered rooms is found within 1 cm and 0.2 degrees", async () => {
  const { SceneRenderer } = await import("../../camera/index.js");
  const size = sceneView(640, 480);
  for (const pose of [{ heightMetres: 0.6, pitchDegrees: 20, rollDegrees: 5 }]) {
    const renderer = new SceneRenderer(native, {
      width: 320,
      height: 240,
      view: "ideal",
      room: "bare",
      pose,
    });
    const { disparity } = renderer.truth(0, "left", size);
    renderer.close();
    const call = {
      ...size,
      baselineMetres: SCENE_BASELINE_METRES,
      disparityQ4: Int16Array.from(disparity.data, (d) => Math.round(16 * d)),
      confidence: new Uint8Array(640 * 480).fill(200),
    };
    const figures = poseOf(find(variants[0]!, call), call);
    expect(Math.abs(figures.heightMetres - pose.heightMetres)).toBeLessThan(0.01);
    expect(Math.abs(figures.pitchDegrees - pose.pitchDegrees)).toBeLessThan(0.2);
    expect(Math.abs(figures.rollDegrees - pose.rollDegrees)).toBeLessThan(0.2);
  }
});

describe.each(variants)("floor, %s: twin of the reference", (variant) => {
  test.each([
    [1, 1],
    [63, 47],
    [130, 97],
    [320, 240],
  ])("%i x %i", (width, height) => {
    const random = new Random();
    for (let round = 0; round < 4; round++) {
      const focalPixels = random.whole(width, 2 * width);
      const small = { width, height, focalPixels, baselineMetres: 0.1, cx: width / 2, cy: height / 3 };
      const call = plane(
        {
          heightMetres: random.whole(2, 30) / 10,
          pitchDegrees: random.whole(-10, 50),
          rollDegrees: random.whole(-20, 20),
        },
        small,
      );
      const invalidIn = random.pick([2, 3, 50]);
      for (let i = 0; i < width * height; i++) {
        if (round === 3) call.disparityQ4[i] = random.whole(-32768, 32767);
        else call.disparityQ4[i] = call.disparityQ4[i]! + random.whole(-6, 6);
        if (random.whole(1, invalidIn) === 1) call.disparityQ4[i] = INVALID;
        if (random.whole(1, 9) === 1) call.confidence[i] = 0;
      }
      const before = Float64Array.of(
        random.whole(-9999, 9999),
        random.whole(-99_999, 999_999),
        random.whole(0, 1e9),
      );
      for (const more of [{}, { before }, { before, onlyBefore: true }])
        expect(find(variant, { ...call, ...more }), `seed ${random.seed}`).toEqual(
          find("reference", { ...call, ...more }),
        );
    }
  });
});
