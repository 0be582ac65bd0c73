// SPDX-License-Identifier: Apache-2.0
// The watch over a rig while settings change: on and off, other limits, and the map that is given back.
import { describe, expect, test } from "vitest";
import {
  greyPairLayout,
  type MapTurn,
  rotationMatrix,
  SceneRenderer,
  sceneCalibration,
} from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { rectifiedGeometry } from "../../edge/pipeline/geometry.js";
import { RigCorrection } from "../../edge/rig/health/correction.js";
import { rowsAt } from "../../edge/rig/health/estimate.js";
import { RigWatch } from "../../edge/rig/health/index.js";

const SIZE = { width: 320, height: 240 };
const HEALTH = { enabled: true, maxRows: 0.75, maxDegrees: 0.08, correct: false, maxCorrectionDegrees: 1 };

test("health.* of a running watch", async () => {
  const renderer = new SceneRenderer(loadNative(), SIZE);
  const images = await renderer.frame(0);
  renderer.close();
  const watch = new RigWatch({
    onProblem: () => {},
    onCorrection: () => {},
    onReset: () => {},
    onDrift: () => {},
    setRightMap: () => {},
  });
  const geometry = rectifiedGeometry(sceneCalibration(SIZE), 0);
  // Before it is opened there is nothing to change.
  watch.configure({ health: HEALTH });
  watch.open({ health: HEALTH }, greyPairLayout(SIZE.width, SIZE.height), geometry);
  expect(watch.figures()).toMatchObject({ problem: null, correction: { available: false } });
  watch.configure({ health: { ...HEALTH, enabled: false } });
  expect(watch.figures()).toEqual({ available: false, reason: "health.enabled is false" });
  watch.frame(images as never);
  watch.configure({ health: { ...HEALTH, correct: true } });
  expect(watch.figures()).toMatchObject({ looks: 0, correction: { changes: 0, refused: null } });
  watch.configure({ health: { ...HEALTH, correct: true, maxDegrees: 2, maxCorrectionDegrees: 3 } });
  expect(watch.figures()).toMatchObject({ correction: { changes: 0 } });
  watch.configure({ health: HEALTH });
  expect(watch.figures()).toMatchObject({ correction: { reason: "health.correct is false" } });
  watch.close();
});

test("a bound below the correction resets it, and so does switching it off", async () => {
  const rightMap = new Int32Array(2 * 4 * 4);
  const maps: Int32Array[] = [];
  const said: string[] = [];
  const rig = {
    view: { width: 4, height: 4, focalPixels: 4, cx: 1.5, cy: 1.5 },
    inputWidth: 4,
    inputHeight: 4,
    rightMap,
    setRightMap: (map: Int32Array) => void maps.push(map),
  };
  const events = { onChange: (text: string) => void said.push(text), onRefused: () => {} };
  let now = 0;
  const turned = async () => new Int32Array(rightMap.length).fill(7);
  const correction = new RigCorrection(rig, 1, events, turned, () => now);
  const radians = (degrees: number) => ({ value: (degrees * Math.PI) / 180, deviation: 1e-5 });
  const estimate = { pitch: radians(0), yaw: radians(0), roll: radians(0.4) };
  const turn = async () => {
    for (let i = 0; i < 6; i++) correction.take({ terms: estimate as never });
    await new Promise((resolve) => setImmediate(resolve));
    now += 10_000;
  };
  await turn();
  expect(correction.active).toBe(true);
  expect(correction.rightMap[0]).toBe(7);
  correction.setMaxDegrees(0.3);
  expect(correction.active).toBe(false);
  expect(maps.at(-1)).toBe(rightMap);
  correction.setMaxDegrees(1);
  now += 10_000;
  await turn();
  expect(correction.active).toBe(true);
  correction.undo();
  expect(maps.at(-1)).toBe(rightMap);
  expect(said.at(-1)).toContain("the map of the calibration is used again");
});

test("a roll of the right camera moves rows in proportion to the distance from its middle", () => {
  const none = { value: 0, deviation: 0 };
  const roll = { value: 0.01, deviation: 0 };
  const terms = { pitch: none, roll, scale: none, yaw: none, baselineRoll: none, baselineYaw: none };
  for (const focalPixels of [200, 400]) {
    const view = { width: 640, height: 480, focalPixels, cx: 320, cy: 240 };
    const rows = rowsAt({ terms } as never, view, { x: 420, y: 17, disparity: 5 });
    expect(rows).toBeCloseTo(0.01 * 100, 9);
  }
});

describe("a correction", () => {
  const view = { width: 4, height: 3, focalPixels: 5, cx: 1.5, cy: 1 };
  const rightMap = new Int32Array(2 * 4 * 3);
  function open(maxDegrees = 1) {
    const state = {
      now: 0,
      maps: [] as Int32Array[],
      changes: [] as string[],
      refusals: [] as string[],
      turns: [] as MapTurn[],
      failure: undefined as Error | undefined,
    };
    const correction = new RigCorrection(
      { view, inputWidth: 8, inputHeight: 6, rightMap, setRightMap: (map) => void state.maps.push(map) },
      maxDegrees,
      {
        onChange: (text) => void state.changes.push(text),
        onRefused: (text) => void state.refusals.push(text),
      },
      async (turn) => {
        state.turns.push(turn);
        if (state.failure !== undefined) throw state.failure;
        return new Int32Array([state.turns.length]);
      },
      () => state.now,
    );
    const term = (degrees: number) => ({ value: (degrees * Math.PI) / 180, deviation: 0 });
    /** Estimates of pitch, yaw and roll in degrees; a number is a pitch. */
    const take = async (...estimates: (number | readonly [number, number, number])[]) => {
      for (const one of estimates) {
        const [pitch, yaw, roll] = typeof one === "number" ? [one, 0, 0] : one;
        correction.take({ terms: { pitch: term(pitch), yaw: term(yaw), roll: term(roll) } } as never);
      }
      await new Promise((resolve) => setImmediate(resolve));
    };
    const angles = () => {
      const { pitch, yaw, roll } = correction.figures();
      return [pitch, yaw, roll];
    };
    return { state, correction, take, angles };
  }
  const five = <T>(value: T): T[] => Array(5).fill(value);

  test("takes five estimates that agree, and turns the map by their medians", async () => {
    const { state, correction, take, angles } = open();
    await take(0.1, 0.139, 0.12, 0.11);
    expect([state.turns.length, correction.active, correction.rightMap]).toEqual([0, false, rightMap]);
    await take([0.13, 0, 0]);
    expect(angles()).toEqual([0.12, 0, 0]);
    expect(state.turns).toEqual([
      {
        ...view,
        inputWidth: 8,
        inputHeight: 6,
        map: rightMap,
        rotation: Float64Array.from(rotationMatrix([(0.12 * Math.PI) / 180, 0, 0])),
      },
    ]);
    expect(state.maps).toEqual([Int32Array.of(1)]);
    expect(correction.rightMap).toBe(state.maps[0]);
    expect(state.changes).toEqual([
      "health.correct corrects a rotation of the right camera: pitch 0.120, yaw 0.000, roll 0.000 degrees",
    ]);
    expect(correction.figures()).toEqual({ pitch: 0.12, yaw: 0, roll: 0, changes: 1, refused: null });
  });

  test.each([
    ["pitch", [0.1, 0, 0], [0.141, 0, 0]],
    ["roll", [0, 0, 0.1], [0, 0, 0.141]],
  ] as const)("waits while estimates of %s differ; the oldest are forgotten", async (_, low, high) => {
    const { take, correction } = open();
    await take(low, high, high, high, high);
    expect(correction.active).toBe(false);
    await take(high);
    expect(correction.active).toBe(true);
  });

  test.each([
    [five([0, 0.049, 0.1]), 0],
    [five([0, 0.051, 0.1]), 0.051],
    [five([0, -0.051, 0.1]), -0.051],
    [[...Array(4).fill([0, 0.1, 0.1]), [0, 0.179, 0.1]], 0.1],
    [[...Array(4).fill([0, 0.1, 0.1]), [0, 0.181, 0.1]], 0],
  ])("corrects a yaw only where it is sure: %#", async (estimates, yaw) => {
    const { take, angles } = open();
    await take(...(estimates as [number, number, number][]));
    expect(angles()).toEqual([0, yaw, 0.1]);
  });

  test("leaves small rotations alone, follows larger ones every 5 s, and returns to the calibration's map", async () => {
    const { state, take, correction, angles } = open();
    await take(...five(0.029));
    expect(state.turns).toEqual([]);
    await take(...five(0.1));
    expect(angles()).toEqual([0.1, 0, 0]);
    state.now = 4999;
    await take(...five(0.2));
    expect(angles()).toEqual([0.1, 0, 0]);
    state.now = 5000;
    await take(0.2);
    expect(angles()).toEqual([0.2, 0, 0]);
    state.now = 10_000;
    await take(...five(0.229));
    expect(state.turns).toHaveLength(2);
    await take(...five([0.2, 0, -0.031] as const));
    expect(angles()).toEqual([0.2, 0, -0.031]);
    state.now = 15_000;
    await take(...five(0.02));
    expect([state.turns.length, correction.active]).toEqual([3, false]);
    expect(state.maps.at(-1)).toBe(rightMap);
    expect(state.changes.at(-1)).toBe(
      "health.correct corrects nothing any more: the map of the calibration is used again",
    );
    state.now = 20_000;
    await take(...five(0.02));
    expect(correction.figures()).toEqual({ pitch: 0, yaw: 0, roll: 0, changes: 4, refused: null });
  });

  test("refuses a rotation beyond the bound once, and one that cannot be computed", async () => {
    const { state, take, correction } = open(0.5);
    await take(...five([0.3, 0, 0.401] as const), ...five([0.3, 0, 0.401] as const));
    const why = "a rotation of 0.50 degrees exceeds health.maxCorrectionDegrees";
    expect(state.refusals).toEqual([why]);
    expect(correction.figures()).toMatchObject({ changes: 0, refused: why });
    state.failure = new Error("no memory");
    await take(...five([0.3, 0, 0.399] as const));
    expect(state.refusals).toEqual([why, "no memory"]);
    expect(correction.figures().refused).toBe("no memory");
    state.failure = undefined;
    await take([0.3, 0, 0.399]);
    expect(correction.figures()).toMatchObject({ changes: 1, refused: null });
    correction.setMaxDegrees(0.51);
    expect(correction.active).toBe(true);
    correction.setMaxDegrees(0.49);
    expect(correction.active).toBe(false);
  });

  test("computes one map at a time, and uses none after its end", async () => {
    const { state, take, correction } = open();
    const taken = take(...five(0.1), ...five(0.1));
    correction.close();
    await taken;
    expect(state.turns).toHaveLength(1);
    expect([state.maps, correction.active]).toEqual([[], false]);
    correction.undo();
    expect(state.maps).toEqual([]);
  });
});
