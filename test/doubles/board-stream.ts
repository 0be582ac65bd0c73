// SPDX-License-Identifier: Apache-2.0
// Rendered boards as a camera that delivers both images side by side: a file, and the settings that play it.
import { closeSync, openSync, writeSync } from "node:fs";
import type { Board, StereoCalibration } from "../../camera/index.js";
import { boardPicture } from "./board-pictures.js";
import type { BoardPose } from "./calibration-rig.js";
import type { Random } from "./random.js";

export interface BoardStream {
  /** For depthwatt calibrate --live. */
  readonly words: readonly string[];
}

/** Each pose is held for `hold` frames of `rateHz`. */
export function boardStream(
  file: string,
  rig: StereoCalibration,
  board: Board,
  poses: readonly BoardPose[],
  random: Random,
  { rateHz, hold }: { rateHz: number; hold: number },
): BoardStream {
  const { width, height } = rig.imageSize;
  const handle = openSync(file, "w");
  for (const pose of poses) {
    const [left, right] = (["left", "right"] as const).map((side) =>
      boardPicture(rig, board, pose, side, { noise: 1.5, random }),
    );
    const frame = new Uint8Array(2 * width * height);
    for (let y = 0; y < height; y++) {
      frame.set(left!.data.subarray(y * width, (y + 1) * width), 2 * y * width);
      frame.set(right!.data.subarray(y * width, (y + 1) * width), (2 * y + 1) * width);
    }
    writeSync(handle, frame);
  }
  closeSync(handle);
  const command = `${process.execPath} test/doubles/play-frames.mjs ${file} ${2 * width * height} ${rateHz} ${hold}`;
  const settings = { sideBySide: command, format: "GREY", width, height, rateHz };
  const words = Object.entries(settings).flatMap(([key, value]) => [
    "--set",
    `source.command.${key}=${value}`,
  ]);
  return { words: ["--live", "--source", "command", ...words] };
}
