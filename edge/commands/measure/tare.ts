// SPDX-License-Identifier: Apache-2.0
// Corrects the scale of the baseline in a calibration file, and restores the file from before.
import { copyFile, rename, stat } from "node:fs/promises";
import {
  baselineMetres,
  loadStereoCalibration,
  type StereoCalibration,
  stringifyCalibration,
} from "../../../camera/index.js";
import { DepthwattError, hasCode, writeBeside } from "../../../core/index.js";

/** A larger correction is not a scale error: the distance, the target or the calibration is wrong. */
const MAX_CORRECTION = 0.1;
const OWN_FORMAT = "depthwatt JSON";

export interface Tare {
  file: string;
  /** Where the file from before is kept. */
  kept: string;
  scale: number;
  baselineMetres: { before: number; after: number };
}

export const keptFile = (file: string): string => `${file}.before-tare`;

/** The same calibration with a baseline `scale` times as long: every depth is `scale` times as large. */
export function scaled(calibration: StereoCalibration, scale: number): Omit<StereoCalibration, "hash"> {
  const { given, T, ...rest } = calibration;
  const times = <Numbers extends readonly number[]>(numbers: Numbers) =>
    numbers.map((value) => scale * value) as unknown as Numbers;
  if (given === undefined) return { ...rest, T: times(T) };
  const P2 = given.P2.map((value, i) => (i % 4 === 3 ? scale * value : value)) as unknown as typeof given.P2;
  return { ...rest, T: times(T), given: { ...given, P2 } };
}

/**
 * Scales the baseline in the file, so that the measured distance becomes the true one.
 * @param lengthUnitMetres the setting, for the hint
 * @throws DepthwattError USAGE: the correction is too large, or the file is not depthwatt's own; OUTPUT_UNWRITABLE
 */
export async function tare(
  file: string,
  {
    measuredMetres,
    trueMetres,
    lengthUnitMetres,
  }: Record<"measuredMetres" | "trueMetres" | "lengthUnitMetres", number>,
): Promise<Tare> {
  const scale = trueMetres / measuredMetres;
  if (Math.abs(scale - 1) > MAX_CORRECTION) {
    throw new DepthwattError(
      "USAGE",
      `expected a correction of at most ${100 * MAX_CORRECTION} %, found ${(100 * (scale - 1)).toFixed(1)} %`,
      { hint: "Check --distance and the target. If both are right, calibrate the cameras again." },
    );
  }
  const { calibration, format } = loadStereoCalibration(file);
  if (format !== OWN_FORMAT) {
    throw new DepthwattError("USAGE", `${file}: expected a calibration in ${OWN_FORMAT}, found ${format}`, {
      hint: `Set calibration.lengthUnitMetres to ${(scale * lengthUnitMetres).toPrecision(6)} instead: it scales the baseline too.`,
    });
  }
  const corrected = scaled(calibration, scale);
  const kept = keptFile(file);
  try {
    await copyFile(file, kept);
    await writeBeside(file, stringifyCalibration(corrected as StereoCalibration));
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
  const before = baselineMetres(calibration);
  return { file, kept, scale, baselineMetres: { before, after: baselineMetres(corrected) } };
}

/**
 * Restores the file from before the last tare.
 * @returns the baseline in the restored file, metres
 * @throws DepthwattError USAGE: no file is kept; OUTPUT_UNWRITABLE
 */
export async function undoTare(file: string): Promise<number> {
  const kept = keptFile(file);
  try {
    await stat(kept);
    await rename(kept, file);
  } catch (cause) {
    if (hasCode(cause, "ENOENT"))
      throw new DepthwattError("USAGE", `expected ${kept}, which --tare keeps, found none`, { cause });
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
  return baselineMetres(loadStereoCalibration(file).calibration);
}
