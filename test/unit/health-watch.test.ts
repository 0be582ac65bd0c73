// SPDX-License-Identifier: Apache-2.0
// The watch over a rig while settings change: on and off, other limits, and the map that is given back.
import { expect, test } from "vitest";
import { greyPairLayout, SceneRenderer, sceneCalibration } from "../../camera/index.js";
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
