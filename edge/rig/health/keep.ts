// SPDX-License-Identifier: Apache-2.0
// Saves the correction of a run as another calibration file.
import { accessSync, constants, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import {
  type CalibrationCorrection,
  correctedCalibration,
  stringifyCalibration,
} from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import type { Rig } from "../../contracts/rig.js";
import type { CorrectionReport } from "./correction.js";

const unsupported = (why: string, hint?: string) =>
  new DepthwattError("CONTROL_UNSUPPORTED", why, hint === undefined ? {} : { hint });

/** Names of kept corrections end with their time. */
const TIME = /-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}$/;

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Next to the calibration; a service, which may not write there, keeps it in its state folder. */
function place(file: string, date: Date): string {
  const [first = file, second] = file.split(",");
  const stem = second === undefined ? basename(first, extname(first)).replace(TIME, "") : "calibration";
  const time = date.toISOString().slice(0, 19).replaceAll(":", "-");
  const state = process.env.STATE_DIRECTORY?.split(":")[0];
  const folder = !isWritable(dirname(first)) && state !== undefined ? state : dirname(first);
  return join(folder, `${stem}-${time}.json`);
}

/** A calibration to change to, and the corrections in it, the oldest first. */
export interface OtherCalibration {
  file: string;
  corrections: readonly CalibrationCorrection[];
}

/**
 * Writes the calibration of `rig` with the correction that is applied now.
 * @throws DepthwattError CONTROL_UNSUPPORTED, OUTPUT_UNWRITABLE
 */
export function keepCorrection(
  { file, crop }: { file?: string | undefined; crop: number | "given" },
  rig: Rig | undefined,
  correction: CorrectionReport,
  date = new Date(),
): OtherCalibration {
  if (file === undefined || rig === undefined)
    throw unsupported("calibration.file is not set, so there is no calibration to correct");
  if (crop === "given")
    throw unsupported(
      "calibration.crop is given: the file's own R and P do not fit a corrected calibration",
      "Set calibration.crop to a number from 0 to 1.",
    );
  if ("available" in correction) throw unsupported(`no rotation is corrected now: ${correction.reason}`);
  const { pitch, yaw, roll } = correction;
  if (Math.hypot(pitch, yaw, roll) === 0) throw unsupported("no rotation is corrected now");
  const corrected = correctedCalibration(rig.calibration, rig.rectification, {
    date: date.toISOString(),
    from: file,
    pitch,
    yaw,
    roll,
  });
  const target = place(file, date);
  try {
    writeFileSync(target, stringifyCalibration(corrected), { flag: "wx", flush: true });
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${target}: ${(cause as Error).message}`, {
      cause,
    });
  }
  return { file: target, corrections: corrected.corrections ?? [] };
}

/** Returns the calibration that the present one corrects. @throws DepthwattError CONTROL_UNSUPPORTED */
export function calibrationBefore(rig: Rig | undefined): OtherCalibration {
  const corrections = rig?.calibration.corrections ?? [];
  const last = corrections.at(-1);
  if (last === undefined) throw unsupported("the present calibration is no corrected one");
  return { file: last.from, corrections: corrections.slice(0, -1) };
}
