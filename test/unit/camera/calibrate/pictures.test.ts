// SPDX-License-Identifier: Apache-2.0
// From pictures to the rig: boards are rendered through known lenses and found, and the numbers come back.
import { expect, test } from "vitest";
import { multiply, rotationVector, transpose } from "../../../../camera/calibration/matrix.js";
import {
  type Board,
  calibratePairs,
  detectIn,
  type GreyImage,
  guessDetection,
  type LensModel,
  type SeenPair,
} from "../../../../camera/index.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { boardPicture } from "../../../doubles/board-pictures.js";
import { createPoses, createRig, projectCorners } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const native = loadNative();
const imageSize = { width: 480, height: 360 };
const BOARDS: Record<string, Board> = {
  chessboard: { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 },
  circles: { pattern: "circles", columns: 4, rows: 11, squareMetres: 0.03 },
  charuco: { pattern: "charuco", columns: 7, rows: 5, squareMetres: 0.04, markerMetres: 0.03, dictionary: 0 },
};

async function rendered(
  lens: LensModel,
  board: Board,
  count: number,
  turn?: readonly [number, number, number],
) {
  const rig = createRig(lens, imageSize, turn);
  const random = new Random(17);
  const poses = createPoses(rig, board, count, random, 0.6);
  const pairs: SeenPair[] = [];
  for (const [at, pose] of poses.entries()) {
    const look = (side: "left" | "right") =>
      detectIn(native, boardPicture(rig, board, pose, side, { noise: 2, random }), board);
    const [left, right] = [await look("left"), await look("right")];
    pairs.push({ name: `pair ${at}`, left, right });
  }
  return { rig, poses, pairs };
}

const degrees = (a: readonly number[], b: readonly number[]) =>
  (Math.hypot(...rotationVector(multiply(a as never, transpose(b as never)))) * 180) / Math.PI;

test.each([
  ["radtan", "chessboard", 0.15],
  ["fisheye", "chessboard", 0.15],
  ["radtan", "circles", 0.4],
  ["radtan", "charuco", 0.2],
] as const)("%s with %s: every board is found, the rig comes back", async (lens, pattern, cornerError) => {
  const board = BOARDS[pattern]!;
  const turn = [0.003, -0.006, 0.004] as const;
  const { rig, poses, pairs } = await rendered(lens, board, 12, turn);
  for (const [at, pair] of pairs.entries()) {
    for (const side of ["left", "right"] as const) {
      expect(pair[side].absence, `${pair.name} ${side}`).toBe("none");
      const truth = projectCorners(rig, board, poses[at]!, side);
      const off = [...pair[side].ids].map((id, i) =>
        Math.hypot(pair[side].points[2 * i]! - truth[id]![0], pair[side].points[2 * i + 1]! - truth[id]![1]),
      );
      const rms = Math.sqrt(off.reduce((sum, d) => sum + d * d, 0) / off.length);
      expect(rms, `${pair.name} ${side}`).toBeLessThan(cornerError);
    }
  }
  const result = await calibratePairs(native, pairs, { board, lens, imageSize });
  const { calibration } = result;
  const focal = (side: "left" | "right") => Math.abs(calibration[side].K[0] / rig[side].K[0] - 1);
  expect(result.pairsUsed).toBe(12);
  expect(result.rmsPixels).toBeLessThan(cornerError);
  expect(focal("left")).toBeLessThan(0.004);
  expect(focal("right")).toBeLessThan(0.004);
  expect(result.baselineMetres).toBeCloseTo(Math.hypot(...rig.T), 3);
  expect(degrees(calibration.R, rig.R)).toBeLessThan(4 * result.deviations!.rotationDegrees);
});

test("the size of a chessboard is detected", async () => {
  const board = BOARDS.chessboard!;
  const rig = createRig("radtan", imageSize);
  const random = new Random(4);
  for (const pose of createPoses(rig, board, 2, random, 0.4)) {
    const picture = boardPicture(rig, board, pose, "left", { noise: 3, random });
    expect(await guessDetection(native, picture)).toMatchObject({ absence: "none", columns: 9, rows: 6 });
  }
});

test("noise, a black picture and stripes show no board", async () => {
  const random = new Random(2);
  const pictures: [string, (x: number, y: number) => number][] = [
    ["noise", () => random.whole(0, 255)],
    ["black", () => 0],
    ["stripes", (x) => (x % 20 < 10 ? 30 : 220)],
  ];
  for (const [name, value] of pictures) {
    const image: GreyImage = { width: 320, height: 240, data: new Uint8Array(320 * 240) };
    for (let at = 0; at < image.data.length; at++) image.data[at] = value(at % 320, Math.floor(at / 320));
    for (const board of Object.values(BOARDS))
      expect((await detectIn(native, image, board)).absence, `${name}, ${board.pattern}`).not.toBe("none");
  }
});
