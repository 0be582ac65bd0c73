// SPDX-License-Identifier: Apache-2.0
// The figures of a flat target by hand, and the baseline's scale in a calibration file: corrected, and restored.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  baselineMetres,
  encodePgm,
  loadStereoCalibration,
  sceneCalibration,
  stringifyCalibration,
} from "../../../../../camera/index.js";
import { tare, undoTare } from "../../../../../edge/commands/measure/tare.js";
import { Target } from "../../../../../edge/commands/measure/target.js";
import { runInProcess } from "../../../../doubles/command-line.js";
import { lastJson, runProgram } from "../../../../doubles/program.js";
import { createTexture } from "../../../../doubles/texture.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-measure-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const [WIDTH, HEIGHT] = [40, 30];
const AREA = { x: 10, y: 10, width: 20, height: 10 };
// 400 px x 0.1 m: 20 px is 2 m, and 1 px there is 100 mm.
const GEOMETRY = { focalPixels: 400, baselineMetres: 0.1, disparityOffsetPixels: 0 };
const RAYS = { focalPixels: 400, cx: 19.5, cy: 14.5 };

function createFrame(disparityQ4: (x: number, y: number) => number, confidence = (_x: number) => 255) {
  const pixels = Array.from(
    { length: WIDTH * HEIGHT },
    (_, i) => [i % WIDTH, Math.floor(i / WIDTH)] as const,
  );
  return {
    disparityQ4: Int16Array.from(pixels, ([x, y]) => disparityQ4(x, y)),
    confidence: Uint8Array.from(pixels, ([x]) => confidence(x)),
  };
}

test("a wall at 2 m whose pixels alternate by 1/16 px in space and in time", () => {
  const target = new Target(AREA, GEOMETRY, RAYS);
  for (let frame = 0; frame < 10; ++frame) {
    // A checkerboard, and all of it up and down.
    target.add(
      createFrame((x, y) => 320 + ((x + y) % 2 === 0 ? 1 : -1) + (frame % 2 === 0 ? 1 : -1)),
      WIDTH,
    );
  }
  const figures = target.figures(1.98)!;
  expect(figures).toMatchObject({ frames: 10, fillRatePercent: 100 });
  // The upper one of the two medians: 40 / (20 - 1/16).
  expect(figures.distanceMetres).toBeCloseTo(2.00627, 4);
  expect(figures.angleDegrees).toBeLessThan(0.5);
  expect(figures.error).toMatchObject({ millimetres: expect.closeTo(26.27, 1) });
  // 1/16 px about the plane: 6.25 mm at 2 m.
  expect(figures.spatialNoise.subpixels).toBe(0.063);
  expect(figures.spatialNoise.millimetres).toBeCloseTo(6.25, 0);
  // Five frames each, 1/16 px up and down: the deviation of a sample is that times sqrt(10 / 9).
  expect(figures.temporalNoise).toMatchObject({
    subpixels: expect.closeTo(Math.sqrt(10 / 9) / 16, 3),
    millimetres: expect.closeTo(6.6, 0),
  });
});

test("filled pixels do not fill, and what one frame or no distance leaves unknown is unavailable", () => {
  const target = new Target(AREA, GEOMETRY, RAYS);
  target.add(
    createFrame(
      () => 320,
      (x) => (x < 20 ? 0 : 200),
    ),
    WIDTH,
  );
  expect(target.figures(undefined)).toMatchObject({
    fillRatePercent: 50,
    error: { available: false },
    temporalNoise: { available: false },
  });
  const empty = new Target(AREA, GEOMETRY, RAYS);
  empty.add(
    createFrame(() => -32_768),
    WIDTH,
  );
  expect(empty.figures(2)).toBeUndefined();
});

describe("every figure by hand", () => {
  const area = { x: 10, y: 5, width: 20, height: 10 };
  const geometry = { ...GEOMETRY, disparityOffsetPixels: 5 };
  const rays = { focalPixels: 400, cx: 19.5, cy: 9.5 };

  test("two frames, of which the second has half of the pixels and a pixel more of disparity", () => {
    const target = new Target(area, geometry, rays);
    target.add(
      createFrame(() => 320),
      WIDTH,
    );
    target.add(
      createFrame(
        () => 336,
        (x) => (x < 20 ? 0 : 1),
      ),
      WIDTH,
    );
    // 40 px m / 25 px, the larger of both distances; the deviation of 25 px and 26 px is sqrt(0.5) px.
    expect(target.figures(1.5)).toEqual({
      frames: 2,
      fillRatePercent: 75,
      distanceMetres: 1.6,
      angleDegrees: 0,
      error: { millimetres: 100, percent: 6.667 },
      spatialNoise: { millimetres: 0, percent: 0, subpixels: 0 },
      temporalNoise: { millimetres: 45.255, percent: 2.828, subpixels: 0.707 },
    });
  });

  test("a plane that is turned around both axes", () => {
    const target = new Target(area, geometry, rays);
    // 25 px in the middle, and an eighth of a pixel more for each column and row: normal (50, 50, 25).
    target.add(
      createFrame((x, y) => 320 + 2 * x - 39 + 2 * y - 19),
      WIDTH,
    );
    expect(target.figures(undefined)).toEqual({
      frames: 1,
      fillRatePercent: 100,
      distanceMetres: 1.6,
      angleDegrees: Number(((Math.atan(2 * Math.SQRT2) * 180) / Math.PI).toFixed(3)),
      error: { available: false, reason: "--distance was not given" },
      spatialNoise: { millimetres: 0, percent: 0, subpixels: 0 },
      temporalNoise: { available: false, reason: expect.stringContaining("two frames") },
    });
  });

  test("pixels of less than half of the frames, and disparities that are not positive, do not count", () => {
    const target = new Target(area, geometry, rays);
    for (let frame = 0; frame < 6; frame++) {
      const up = frame % 2 === 0 ? 16 : -16;
      target.add(
        createFrame(
          // Columns 10 to 13 are steady and matched twice; column 14 is at infinity and column 15 behind it.
          (x) => (x < 14 ? 320 : x === 14 ? -80 : x === 15 ? -96 : 320 + up),
          (x) => (x < 14 && frame > 1 ? 0 : 255),
        ),
        WIDTH,
      );
    }
    // 14 columns in all frames, 4 in two of six, of 20. The deviation of 24 px and 26 px, three times each, is sqrt(6 / 5) px.
    expect(target.figures(undefined)).toMatchObject({
      frames: 6,
      fillRatePercent: Number(((100 * (14 * 6 + 4 * 2)) / (20 * 6)).toFixed(3)),
      temporalNoise: { subpixels: Number(Math.sqrt(6 / 5).toFixed(3)) },
    });
  });
});

test("depthwatt measure --tare scales the baseline in the file, and --undo restores it to the byte", async () => {
  const [width, height, disparity] = [320, 240, 16];
  const texture = createTexture(width + disparity, height);
  const [left, right] = [join(folder, "left.pgm"), join(folder, "right.pgm")];
  for (const [path, shift] of [
    [left, 0],
    [right, disparity],
  ] as const) {
    const at = (_: unknown, i: number) => texture((i % width) + shift, Math.floor(i / width));
    writeFileSync(path, encodePgm({ width, height, data: Uint8Array.from({ length: width * height }, at) }));
  }
  const calibration = sceneCalibration({ width, height, view: "rectified" });
  const file = join(folder, "stereo.json");
  const text = stringifyCalibration(calibration);
  writeFileSync(file, text);
  const before = baselineMetres(calibration);
  const images = [left, right, "--calibration", file];
  const distance = (calibration.left.K[0] * before) / disparity;

  const tared = await runProgram(["measure", ...images, "--tare", "--distance", String(1.02 * distance)]);
  expect(tared.code, tared.stderr).toBe(0);
  const after = baselineMetres(loadStereoCalibration(file).calibration);
  expect(after / before).toBeCloseTo(1.02, 4);
  expect(tared.stdout.split("\n").at(-2)).toBe(
    `${file}: baseline ${(1000 * before).toFixed(3)} mm -> ${(1000 * after).toFixed(3)} mm ` +
      `(x ${(after / before).toFixed(5)}); --undo restores ${file}.before-tare`,
  );
  const again = lastJson<{ distanceMetres: number }>(await runInProcess(["measure", ...images, "--json"]));
  expect(again.distanceMetres / distance).toBeCloseTo(1.02, 4);

  const undone = await runInProcess(["measure", "--calibration", file, "--undo", "--json"]);
  expect(undone.code, undone.stderr).toBe(0);
  expect(readFileSync(file, "utf8")).toBe(text);
  await expect(undoTare(file)).rejects.toMatchObject({ code: "USAGE" });
});

test("a tare of more than 10 %, of another format or without a distance changes nothing", async () => {
  const file = join(folder, "unchanged.json");
  const text = stringifyCalibration(sceneCalibration({ width: 160, height: 120 }));
  writeFileSync(file, text);
  await expect(tare(file, { measuredMetres: 2, trueMetres: 2.5, lengthUnitMetres: 1 })).rejects.toMatchObject(
    {
      code: "USAGE",
      message: "expected a correction of at most 10 %, found 25.0 %",
    },
  );
  const missing = await runInProcess(["measure", "--calibration", file, "--tare"]);
  expect(missing.code).toBe(2);
  expect(missing.stderr).toContain("--tare needs the true distance");
  expect(readFileSync(file, "utf8")).toBe(text);
});
