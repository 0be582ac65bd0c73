// SPDX-License-Identifier: Apache-2.0
// Checks a calibration for an implausible rig: exchanged cameras, a camera out of focus, wrong squares.
import { DepthwattError } from "../../../core/index.js";
import type { StereoCalibration } from "../../calibration/index.js";
import { rotationVector } from "../../calibration/matrix.js";
import type { Board } from "./board.js";

/** Ratio and standard deviation of the blur, pixels, from which a camera is out of focus. */
const FOCUS_RATIO = 2.5;
const FOCUS_PIXELS = 2;

const doubtful = (message: string, hint: string): DepthwattError =>
  new DepthwattError("CALIBRATION_DOUBTFUL", message, { hint });

/** @throws DepthwattError CALIBRATION_DOUBTFUL */
export function checkFocus(blur: { left: number; right: number }): void {
  const [soft, sharp] = blur.left > blur.right ? (["left", "right"] as const) : (["right", "left"] as const);
  if (blur[soft] < FOCUS_PIXELS || blur[soft] < FOCUS_RATIO * blur[sharp]) return;
  throw doubtful(
    `the ${soft} camera is out of focus: its edges are ${blur[soft].toFixed(1)} px wide, those of the ${sharp} one ` +
      `${blur[sharp].toFixed(1)} px`,
    `Focus the ${soft} camera and take the pairs again: focusing moves its focal length.`,
  );
}

/**
 * @throws DepthwattError CALIBRATION_DOUBTFUL if the right camera is not to the right of the left one, if they look in
 * different directions, or if the baseline differs from the measured one
 */
export function checkCameras(
  calibration: StereoCalibration,
  { board, baselineMetres }: { board: Board; baselineMetres?: number },
): void {
  const [x, y, z] = calibration.T;
  const found = Math.hypot(x, y, z);
  const turn = (Math.hypot(...rotationVector(calibration.R)) * 180) / Math.PI;
  if (turn > 60) {
    throw doubtful(
      `expected cameras that look the same way, found a turn of ${turn.toFixed(0)} degrees between them`,
      "Check that both images stand the same way up, and that both folders belong to one rig.",
    );
  }
  if (Math.abs(x) < Math.hypot(y, z)) {
    throw doubtful(
      `expected cameras side by side, found the right one ${found.toPrecision(3)} m away mostly ` +
        `${Math.abs(y) > Math.abs(z) ? (y > 0 ? "above" : "below") : "before or behind"} the left one`,
      "Turn the images of both cameras so that the rig is horizontal.",
    );
  }
  if (x > 0) {
    throw doubtful(
      `left and right are swapped: the right camera stands ${found.toPrecision(3)} m to the left of the left one`,
      "Exchange --left and --right; if they are right, both cameras mirror their images or hang upside down: correct that in both.",
    );
  }
  if (baselineMetres === undefined) return;
  const ratio = baselineMetres / found;
  if (Math.abs(ratio - 1) < 0.03) return;
  throw doubtful(
    `the squares are probably ${(board.squareMetres * ratio).toPrecision(3)} m: with ${board.squareMetres} m the ` +
      `baseline is ${found.toPrecision(4)} m, expected ${baselineMetres} m`,
    "Measure ten squares of the printed board with a ruler and give a tenth of that as --square.",
  );
}
