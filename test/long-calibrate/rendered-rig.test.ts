// SPDX-License-Identifier: Apache-2.0
// Rendered boards of a rig whose numbers are known: focal length within 0.1 %, rotation between the cameras within 0.01 degrees.
import { expect, test } from "vitest";
import { multiply, rotationVector, transpose, type Vector3 } from "../../camera/calibration/matrix.js";
import { type Board, calibratePairs, detectIn, type SeenPair } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { boardPicture } from "../doubles/board-pictures.js";
import { createPoses, createRig } from "../doubles/calibration-rig.js";
import { Random } from "../doubles/random.js";

const native = loadNative();
const imageSize = { width: 800, height: 600 };
const board: Board = { pattern: "chessboard", columns: 11, rows: 8, squareMetres: 0.03 };
const RADIANS = Math.PI / 180;

const degreesBetween = (a: readonly number[], b: readonly number[]) =>
  Math.hypot(...rotationVector(multiply(a as never, transpose(b as never)))) / RADIANS;

// Each about another axis, 0.05 to 0.5 degrees.
const TURNS: readonly Vector3[] = [
  [0.05, 0, 0],
  [0, -0.1, 0.15],
  [0.3, -0.2, 0.346],
];

test.each(TURNS)(
  "a right camera that is turned by %f, %f, %f degrees",
  async (...degrees) => {
    const rig = createRig("radtan", imageSize, degrees.map((angle) => angle * RADIANS) as unknown as Vector3);
    const random = new Random(31);
    const pairs: SeenPair[] = [];
    for (const [at, pose] of createPoses(rig, board, 30, random, 0.7).entries()) {
      const look = (side: "left" | "right") =>
        detectIn(native, boardPicture(rig, board, pose, side, { noise: 2, random, subsamples: 10 }), board);
      const [left, right] = [await look("left"), await look("right")];
      pairs.push({ name: `pair ${at}`, left, right });
    }
    const { calibration, pairsUsed, deviations, rmsPixels } = await calibratePairs(native, pairs, {
      board,
      lens: "radtan",
      imageSize,
    });
    const focal = (side: "left" | "right", at: 0 | 4) =>
      Math.abs(calibration[side].K[at] / rig[side].K[at] - 1);
    const turned = degreesBetween(calibration.R, rig.R);
    console.log(
      `rendered rig, turned by ${degrees.join(" ")} degrees: rms ${rmsPixels.toFixed(3)} px, focal lengths off by ` +
        `${(100 * focal("left", 0)).toFixed(4)} and ${(100 * focal("right", 0)).toFixed(4)} %, rotation off by ` +
        `${turned.toFixed(4)} degrees (reported: ${deviations!.rotationDegrees.toFixed(4)})`,
    );
    expect(pairsUsed).toBe(30);
    for (const side of ["left", "right"] as const)
      for (const at of [0, 4] as const) expect(focal(side, at)).toBeLessThan(0.001);
    expect(turned).toBeLessThan(0.01);
  },
  300_000,
);
