// SPDX-License-Identifier: Apache-2.0
// One picture of each kind of board, with the places of its points known: the quick part of pictures.test.ts.
import { expect, test } from "vitest";
import { type Board, detectIn } from "../../../../camera/index.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { boardPicture } from "../../../doubles/board-pictures.js";
import { createPoses, createRig, projectCorners } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const BOARDS: [Board, number][] = [
  [{ pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 }, 0.15],
  [{ pattern: "circles", columns: 4, rows: 11, squareMetres: 0.03 }, 0.4],
  [
    {
      pattern: "charuco",
      columns: 7,
      rows: 5,
      squareMetres: 0.04,
      markerMetres: 0.03,
      dictionary: 0,
    },
    0.2,
  ],
];

test.each(BOARDS)("%j: points within %f pixels of their places", async (board, limit) => {
  const rig = createRig("radtan", { width: 480, height: 360 });
  const random = new Random(17);
  const [pose] = createPoses(rig, board, 1, random, 0.6);
  const picture = boardPicture(rig, board, pose!, "left", { noise: 2, random });
  const { absence, ids, points } = await detectIn(loadNative(), picture, board);
  expect(absence).toBe("none");
  const truth = projectCorners(rig, board, pose!, "left");
  expect(ids.length).toBeGreaterThan(0.5 * truth.length);
  const squares = [...ids].map(
    (id, i) => (points[2 * i]! - truth[id]![0]) ** 2 + (points[2 * i + 1]! - truth[id]![1]) ** 2,
  );
  expect(Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length)).toBeLessThan(limit);
});
