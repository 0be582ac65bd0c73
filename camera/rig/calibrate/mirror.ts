// SPDX-License-Identifier: Apache-2.0
// Detects a camera that mirrors its images: then the pairs make a rig only when they are mirrored back.
import { DepthwattError, hasCode, median } from "../../../core/index.js";
import { type Board, boardGrid } from "./board.js";
import type { CalibrateExports, Detection } from "./native.js";
import { readFromOtherEnd, type SeenPair } from "./pairs.js";
import type { CalibrateOptions } from "./result.js";
import { boardDistances, listCorners, pairSpecs, solve } from "./solve.js";

/** A pair mirrored left to right, as a camera that mirrors would have seen it. */
function mirrored(detection: Detection, board: Board, width: number): Detection {
  const { columns } = boardGrid(board);
  return {
    ...detection,
    ids: detection.ids.map((id) => Math.floor(id / columns) * columns + columns - 1 - (id % columns)),
    points: detection.points.map((value, at) => (at % 2 === 0 ? width - 1 - value : value)),
  };
}

/** Returns the camera whose images are mirrored: then the rig fits when they are mirrored back. */
async function checkMirrored(
  native: CalibrateExports,
  pairs: readonly SeenPair[],
  options: CalibrateOptions,
  rmsPixels: number,
): Promise<"left" | "right" | undefined> {
  for (const side of ["right", "left"] as const) {
    for (const turned of [false, true]) {
      const tried = pairs.map((pair) => {
        const back = mirrored(pair[side], options.board, options.imageSize.width);
        return { ...pair, [side]: turned ? readFromOtherEnd(back, options.board) : back };
      });
      try {
        const solution = await solve(native, listCorners(tried), tried.length, options, {
          robust: true,
          cameras: pairSpecs(options),
        });
        if (median(boardDistances(solution)) < rmsPixels / 4) return side;
      } catch (error) {
        if (!hasCode(error, "CALIBRATION_DOUBTFUL")) throw error;
      }
    }
  }
  return undefined;
}

/** @throws DepthwattError CALIBRATION_DOUBTFUL where a camera mirrors */
export async function checkMirrors(
  native: CalibrateExports,
  pairs: readonly SeenPair[],
  options: CalibrateOptions,
  medianPixels: number,
): Promise<void> {
  const side = await checkMirrored(native, pairs, options, medianPixels);
  if (side === undefined) return;
  throw new DepthwattError(
    "CALIBRATION_DOUBTFUL",
    `the ${side} images are mirrored: expected both cameras to see the board the same way round`,
    { hint: "Switch off the mirroring (horizontal flip) of that camera, and take the pairs again." },
  );
}
