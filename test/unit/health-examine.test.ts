// SPDX-License-Identifier: Apache-2.0
// The verdict of check-calibration over a rig that has turned, in short; test/long-rig has every angle and every mistake.
import { expect, test } from "vitest";
import { greyPairLayout, SceneRenderer, sceneCalibration } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { geometryOf } from "../../edge/pipeline/geometry.js";
import { Examiner } from "../../edge/rig/health/examine.js";
import { lookGeometryOf } from "../../edge/rig/health/look-options.js";

const SIZE = { width: 480, height: 360 };
const calibrated = lookGeometryOf(geometryOf(sceneCalibration(SIZE), 0));
const examiner = () => new Examiner(greyPairLayout(SIZE.width, SIZE.height), calibrated);
const LIMITS = { maxRows: 0.75, maxDegrees: 0.08 };

test("a right camera that has turned by 0.2 degrees is found, and swapped images are told", async () => {
  const renderer = new SceneRenderer(loadNative(), { ...SIZE, turnedDegrees: [0, 0, 0.2] });
  const { left, right } = await renderer.frame(0);
  renderer.close();
  const pair = { left: left.data as Uint8Array, right: right.data as Uint8Array };
  const moved = examiner();
  moved.add(pair);
  const { figures, problem } = moved.finish(LIMITS);
  expect(problem?.code).toBe("RIG_MOVED");
  expect(Math.abs(figures!.rotationDegrees.roll - 0.2)).toBeLessThan(0.03);
  expect(Math.abs(figures!.rotationDegrees.pitch as number)).toBeLessThan(0.03);
  const swapped = examiner();
  swapped.add({ left: pair.right, right: pair.left });
  expect(swapped.finish(LIMITS)).toMatchObject({ figures: undefined, problem: { code: "PAIR_SWAPPED" } });
});

test("flat images have no figures", () => {
  const flat = new Uint8Array(SIZE.width * SIZE.height).fill(90);
  const one = examiner();
  one.add({ left: flat, right: flat });
  expect(one.finish(LIMITS)).toMatchObject({ figures: undefined, problem: { code: "PAIR_FEATURELESS" } });
});

test("the same picture twice is no rig that is well aligned", async () => {
  const renderer = new SceneRenderer(loadNative(), SIZE);
  const { left, right } = await renderer.frame(0);
  renderer.close();
  const [l, r] = [left.data as Uint8Array, right.data as Uint8Array];
  const same = examiner();
  same.add({ left: l, right: r });
  same.add({ left: l, right: l.slice() });
  const { figures, problem } = same.finish(LIMITS);
  expect(figures).toBeUndefined();
  expect(problem).toMatchObject({ code: "PAIR_IDENTICAL", text: expect.stringContaining("1 of 2 pairs") });
});
