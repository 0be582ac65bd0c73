// SPDX-License-Identifier: Apache-2.0
// The verdict of check-calibration over a rig that has turned, in short; test/long-rig has every angle and every mistake.
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  calibratePairs,
  greyPairLayout,
  readEnginePicture,
  SceneRenderer,
  sceneCalibration,
} from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { type PipelineGeometry, rectifiedGeometry, uncalibrated } from "../../edge/pipeline/geometry.js";
import { listPairs, lookForBoard } from "../../edge/rig/calibrate/index.js";
import { Examiner } from "../../edge/rig/health/examine.js";
import { lookGeometryFrom } from "../../edge/rig/health/look-options.js";
import { needsData } from "../doubles/needs.js";

const SIZE = { width: 480, height: 360 };
const calibrated = lookGeometryFrom(rectifiedGeometry(sceneCalibration(SIZE), 0));
const examiner = () => new Examiner(greyPairLayout(SIZE.width, SIZE.height), calibrated);
const LIMITS = { maxRows: 0.75, maxDegrees: 0.08 };

test("a right camera that has turned by 0.2 degrees is found, and swapped images are reported", async () => {
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

test("images as captured, without a calibration, are not rectified: nothing has moved", async () => {
  const renderer = new SceneRenderer(loadNative(), SIZE);
  const { left, right } = await renderer.frame(0);
  renderer.close();
  const raw = new Examiner(
    greyPairLayout(SIZE.width, SIZE.height),
    lookGeometryFrom(uncalibrated(SIZE.width, SIZE.height)),
  );
  raw.add({ left: left.data as Uint8Array, right: right.data as Uint8Array });
  expect(raw.finish(LIMITS).problem).toMatchObject({
    code: "PAIR_UNRECTIFIED",
    text: expect.stringMatching(/^the images are not rectified/),
    hint: expect.stringContaining("--calibration FILE"),
  });
});

needsData("calib/opencv_chessboard").suite("pairs of a chessboard", (folder) => {
  const pairs = ["01", "02", "03", "04", "05", "06", "07", "08", "09", "11", "12", "13", "14"].map((name) =>
    Promise.all(
      ["left", "right"].map(async (side) => {
        const { data } = await readEnginePicture(join(folder, `${side}${name}.jpg`), false);
        return data as Uint8Array;
      }),
    ),
  );
  const size = { width: 640, height: 480 };

  async function codes(geometry: PipelineGeometry, swapped = false) {
    const found: (string | undefined)[] = [];
    for (const pair of pairs) {
      const [left, right] = (await pair) as [Uint8Array, Uint8Array];
      const one = new Examiner(greyPairLayout(size.width, size.height), lookGeometryFrom(geometry));
      one.add(swapped ? { left: right, right: left } : { left, right });
      found.push(one.finish(LIMITS).problem?.code);
    }
    return [...new Set(found)];
  }

  test("without a calibration each is unrectified", async () => {
    expect(await codes(uncalibrated(size.width, size.height))).toEqual(["PAIR_UNRECTIFIED"]);
  });

  test("with the calibration made of them each fits, and swapped ones are named", async () => {
    const native = loadNative();
    const named = await listPairs({ left: `${folder}/left*.jpg`, right: `${folder}/right*.jpg` });
    const wanted = { pattern: "chessboard", squareMetres: 0.025 } as const;
    const { seen, board, imageSize } = await lookForBoard(native, named, wanted, () => {});
    const { calibration } = await calibratePairs(native, seen, { board, lens: "radtan", imageSize });
    const geometry = rectifiedGeometry(calibration, 0);
    expect(await codes(geometry)).toEqual([undefined]);
    expect(await codes(geometry, true)).toEqual(["PAIR_SWAPPED"]);
  });
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
