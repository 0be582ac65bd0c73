// SPDX-License-Identifier: Apache-2.0
// Tests the watch of a run over given looks: its problem, its correction and its days while settings change.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import {
  type AlignmentLook,
  greyPairLayout,
  identityMap,
  type PairAlignerOptions,
} from "../../../../camera/index.js";
import type { PipelineGeometry } from "../../../../edge/pipeline/geometry.js";
import { RigWatch } from "../../../../edge/rig/health/index.js";
import { alignmentLook } from "../../../doubles/alignment-look.js";

const LAYOUT = greyPairLayout(64, 48);
const MAPS = { leftMap: identityMap(64, 48), rightMap: identityMap(64, 48) };
const rig = (focalPixels: number) => ({
  rectification: { focalPixels, cx: 31.5, cy: 23.5, disparityOffsetPixels: 0 },
});
const GEOMETRY = { width: 64, height: 48, maps: MAPS, rig: rig(500) } as unknown as PipelineGeometry;
const HEALTH = { enabled: true, maxRows: 0.75, maxDegrees: 0.08, correct: false, maxCorrectionDegrees: 1 };
const IMAGES = { left: { data: Uint8Array.of(1) }, right: { data: Uint8Array.of(2) } } as never;
const TURNED = alignmentLook({ pitch: 0.3, roll: 0.4 });
const MOVED = "the cameras have moved: 0.0 rows, rotation 0.50 degrees";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function watched() {
  const opened: { options: PairAlignerOptions; closed: number }[] = [];
  const problems: (string | undefined)[] = [];
  const sentences: string[] = [];
  const maps: Int32Array[] = [];
  const drifts: (string | undefined)[] = [];
  let resets = 0;
  let look = alignmentLook();
  const watch = new RigWatch(
    {
      onProblem: (problem) => problems.push(problem?.code),
      onCorrection: (sentence) => sentences.push(sentence),
      onReset: () => resets++,
      onDrift: (problem) => drifts.push(problem),
      setRightMap: (map) => maps.push(map),
    },
    (options) => {
      const one = { options, closed: 0 };
      opened.push(one);
      let pending: AlignmentLook | undefined;
      return {
        begin: () => {
          pending = look;
          return true;
        },
        take: () => {
          const taken = pending;
          pending = undefined;
          return taken;
        },
        close: () => void one.closed++,
      };
    },
  );
  onTestFinished(() => watch.close());
  /** A look each second, which the second of two frames takes. */
  const run = (looks: number, next: AlignmentLook) => {
    look = next;
    for (let i = 0; i < looks; i++) {
      watch.frame(IMAGES);
      vi.advanceTimersByTime(200);
      watch.frame(IMAGES);
      vi.advanceTimersByTime(800);
    }
  };
  /** Five looks that agree are corrected: a thread computes the map. */
  const correct = async (next: AlignmentLook) => {
    const before = maps.length;
    run(5, next);
    await vi.waitUntil(() => maps.length > before, { interval: 1 });
  };
  return { watch, opened, problems, sentences, maps, drifts, run, correct, resets: () => resets };
}

test("features are searched in 2 % of the focal length, at least 8 rows, and half the width", () => {
  const { watch, opened } = watched();
  for (const focal of [500, 300])
    watch.open({ health: HEALTH }, LAYOUT, { ...GEOMETRY, rig: rig(focal) } as unknown as PipelineGeometry);
  const { width: inputWidth, height: inputHeight, ...formats } = LAYOUT;
  const options = { inputWidth, inputHeight, ...formats, ...MAPS, width: 64, height: 48, cx: 31.5, cy: 23.5 };
  const reach = { maxWidth: 800, maxDisparity: 32 };
  expect(opened).toEqual([
    { options: { ...options, ...reach, focalPixels: 500, rows: 10, minDisparity: -14 }, closed: 1 },
    { options: { ...options, ...reach, focalPixels: 300, rows: 8, minDisparity: -12 }, closed: 0 },
  ]);
  watch.close();
  expect(opened[1]!.closed).toBe(1);
});

test("a rotation is a problem until the watch is opened again, its limit changes, or it is switched off", () => {
  const { watch, run, problems, resets, opened } = watched();
  const reported = () => [watch.problem?.text, resets()];
  watch.configure({ health: HEALTH });
  expect(opened).toEqual([]);
  watch.open({ health: HEALTH }, LAYOUT, GEOMETRY);
  watch.frame(undefined);
  run(4, TURNED);
  expect([problems, ...reported()]).toEqual([["RIG_MOVED"], MOVED, 0]);
  expect(watch.figures()).toMatchObject({
    problem: { code: "RIG_MOVED", text: MOVED },
    looks: 4,
    correction: { available: false, reason: "health.correct is false" },
  });
  watch.open({ health: HEALTH }, LAYOUT, GEOMETRY);
  expect(reported()).toEqual([undefined, 1]);
  watch.open({ health: HEALTH }, LAYOUT, GEOMETRY);
  expect(reported()).toEqual([undefined, 1]);
  run(4, TURNED);
  // 0.5 degrees are 0.7 times the limit at most.
  watch.configure({ health: { ...HEALTH, maxDegrees: 0.72 } });
  run(4, TURNED);
  expect([problems, ...reported()]).toEqual([["RIG_MOVED", "RIG_MOVED", undefined], undefined, 1]);
  watch.configure({ health: HEALTH });
  run(4, TURNED);
  watch.configure({ health: { ...HEALTH, enabled: false } });
  expect(reported()).toEqual([undefined, 2]);
  expect(watch.figures()).toEqual({ available: false, reason: "health.enabled is false" });
  watch.configure({ health: HEALTH });
  expect(watch.figures()).toMatchObject({ looks: 0, problem: null });
  expect([resets(), opened.length]).toEqual([2, 4]);
});

test("a corrected rotation is reported, and undone by its bound and by the switch", async () => {
  const { watch, run, correct, maps, sentences, resets } = watched();
  const health = { ...HEALTH, correct: true };
  watch.open({ health }, LAYOUT, GEOMETRY);
  expect(watch.corrected(GEOMETRY)).toBe(GEOMETRY);
  await correct(TURNED);
  expect(watch.correction).toEqual({ pitch: 0.3, yaw: 0, roll: 0.4, changes: 1, refused: null });
  const [turned] = maps;
  expect(turned).not.toEqual(MAPS.rightMap);
  expect(watch.corrected(GEOMETRY)).toEqual({ ...GEOMETRY, maps: { ...MAPS, rightMap: turned } });
  const plain = { ...GEOMETRY, maps: undefined } as PipelineGeometry;
  expect(watch.corrected(plain)).toBe(plain);
  expect(watch.problem).toMatchObject({
    code: "RIG_MOVED",
    text: `${MOVED}; health.correct corrects 0.50 degrees`,
  });
  watch.configure({ health: { ...health, maxDegrees: 5 } });
  run(5, TURNED);
  expect(watch.problem?.text).toBe("the cameras have moved; health.correct corrects 0.50 degrees");
  run(5, alignmentLook({}, 1e4, { leftSharpness: 0.2 }));
  expect(watch.problem?.code).toBe("PAIR_BLURRED");
  watch.configure({ health: { ...health, maxCorrectionDegrees: 0.49 } });
  expect([maps.length, maps[1], watch.corrected(GEOMETRY)]).toEqual([2, MAPS.rightMap, GEOMETRY]);
  expect(sentences).toEqual([
    expect.stringContaining("pitch 0.300, yaw 0.000, roll 0.400 degrees"),
    expect.stringContaining("the map of the calibration is used again"),
  ]);
  watch.open({ health }, LAYOUT, GEOMETRY);
  await correct(TURNED);
  const before = resets();
  watch.configure({ health: HEALTH });
  expect([maps.length, maps[3], resets()]).toEqual([4, MAPS.rightMap, before + 1]);
  expect(watch.correction).toEqual({ available: false, reason: "health.correct is false" });
});

test("without a map and a calibration nothing is corrected, and a rotation beyond the bound is refused", () => {
  const { watch, run, sentences } = watched();
  const health = { ...HEALTH, correct: true };
  for (const lacking of [{ maps: undefined }, { rig: undefined }]) {
    watch.open({ health }, LAYOUT, { ...GEOMETRY, ...lacking } as PipelineGeometry);
    expect(watch.correction).toEqual({
      available: false,
      reason: "needs a calibration: there is no map to turn",
    });
  }
  watch.open({ health: { ...health, maxCorrectionDegrees: 0.4 } }, LAYOUT, GEOMETRY);
  run(5, TURNED);
  expect(sentences).toEqual([
    "health.correct: a rotation of 0.50 degrees exceeds health.maxCorrectionDegrees",
  ]);
});

test("days are kept in the file of the settings, and saved when it changes and at the end", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [first, second] = ["first.json", "second.json"].map((name) => join(folder, name));
  const looks = (file: string) => JSON.parse(readFileSync(file, "utf8"))[0].looks;
  const { watch, run, drifts } = watched();
  watch.open({ health: HEALTH }, LAYOUT, GEOMETRY);
  expect(watch.drift).toEqual({ available: false, reason: "health.driftFile is not set" });
  watch.configure({ health: { ...HEALTH, driftFile: first! } });
  run(4, TURNED);
  expect(watch.drift).toMatchObject({ file: first, days: [{ roll: expect.closeTo(0.4, 6), looks: 4 }] });
  // The first look of a day is saved at once.
  expect([looks(first!), drifts]).toEqual([1, [undefined]]);
  watch.configure({ health: { ...HEALTH, driftFile: second! } });
  expect(looks(first!)).toBe(4);
  run(2, TURNED);
  watch.close();
  expect([looks(first!), looks(second!)]).toEqual([4, 2]);
  expect(watch.drift).toMatchObject({ available: false });
  expect(watch.figures()).toEqual({ available: false, reason: "health.enabled is false" });
});
