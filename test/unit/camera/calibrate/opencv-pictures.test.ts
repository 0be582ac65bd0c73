// SPDX-License-Identifier: Apache-2.0
// OpenCV's own thirteen pairs of a chessboard: all are found, and fit as well as with OpenCV.
import { expect, test } from "vitest";
import { calibratePairs } from "../../../../camera/index.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { listPairs, lookForBoard } from "../../../../edge/rig/calibrate/index.js";
import { needsData } from "../../../doubles/needs.js";

needsData("calib/opencv_chessboard").suite("OpenCV's chessboard pairs", (folder) => {
  test("13 of 13, 0.217 px within 5 %, the size of the board guessed", async () => {
    const native = loadNative();
    const pairs = await listPairs({ left: `${folder}/left*.jpg`, right: `${folder}/right*.jpg` });
    const looked = await lookForBoard(
      native,
      pairs,
      { pattern: "chessboard", squareMetres: 0.025 },
      () => {},
    );
    expect(looked.board).toMatchObject({ columns: 9, rows: 6 });
    const result = await calibratePairs(native, looked.seen, {
      board: looked.board,
      lens: "radtan",
      imageSize: looked.imageSize,
    });
    expect(result.pairsUsed).toBe(13);
    // OpenCV 4.6 with corners refined in 11 x 11 pixels: 0.217 px, 0.215 where the lenses stay free; focal length 533.4 px.
    expect(result.rmsPixels).toBeLessThan(1.05 * 0.217);
    expect(result.rmsPixels).toBeGreaterThan(0.15);
    expect(result.pairs.reduce((sum, { cornersLeftOut }) => sum + cornersLeftOut, 0)).toBeLessThan(15);
    expect(Math.abs(result.calibration.left.K[0] / 533.4 - 1)).toBeLessThan(0.005);
    expect(Math.abs(result.calibration.right.K[0] / 537.0 - 1)).toBeLessThan(0.005);
    expect(result.baselineMetres / 0.025).toBeCloseTo(3.327, 1);
  });
});
