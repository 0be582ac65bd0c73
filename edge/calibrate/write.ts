// SPDX-License-Identifier: Apache-2.0
// Puts a calibration into files: nothing is overwritten unless that was asked for, and what is written reads back.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  loadStereoCalibration,
  makeFolder,
  type StereoCalibration,
  stringifyCalibration,
  stringifyKalibr,
  stringifyOpenCv,
  stringifyRos,
} from "../../camera/index.js";
import { DepthwattError, isDepthwattError, writeBeside } from "../../core/index.js";

export interface Outputs {
  readonly output: string;
  readonly opencv?: string | undefined;
  /** A folder: left.yaml and right.yaml. */
  readonly ros?: string | undefined;
  readonly kalibr?: string | undefined;
  readonly report?: string | undefined;
}

const rosFiles = (folder: string) => [join(folder, "left.yaml"), join(folder, "right.yaml")] as const;

function filesOf({ output, opencv, ros, kalibr, report }: Outputs): string[] {
  const files = [output, opencv, ...(ros === undefined ? [] : rosFiles(ros)), kalibr, report];
  return files.filter((file) => file !== undefined);
}

/** Before anything is computed. @throws DepthwattError FILE_EXISTS, USAGE */
export function checkPlaces(outputs: Outputs, force: boolean): void {
  const files = filesOf(outputs);
  const twice = files.find((file, at) => files.indexOf(file) !== at);
  if (twice !== undefined) {
    throw new DepthwattError("USAGE", `expected every result to have its own file, two go to ${twice}`, {
      hint: "Give each its own name.",
    });
  }
  const there = files.find((file) => existsSync(file));
  if (there === undefined || force) return;
  throw new DepthwattError("FILE_EXISTS", `${there}: expected no such file, it is there already`, {
    context: { file: there },
  });
}

/**
 * Writes all forms, and reads each back. @returns the files, in order
 * @throws DepthwattError FILE_EXISTS, OUTPUT_UNWRITABLE; CALIBRATION_INVALID where a form cannot hold this lens
 */
export async function writeOutputs(
  outputs: Outputs,
  calibration: StereoCalibration,
  report: string | undefined,
  force: boolean,
): Promise<string[]> {
  checkPlaces(outputs, force);
  const texts: [string, string][] = [[outputs.output, stringifyCalibration(calibration)]];
  if (outputs.opencv !== undefined) texts.push([outputs.opencv, stringifyOpenCv(calibration)]);
  if (outputs.ros !== undefined) {
    const { left, right } = stringifyRos(calibration);
    const [l, r] = rosFiles(outputs.ros);
    texts.push([l, left], [r, right]);
  }
  if (outputs.kalibr !== undefined) texts.push([outputs.kalibr, stringifyKalibr(calibration)]);
  if (outputs.report !== undefined && report !== undefined) texts.push([outputs.report, report]);
  for (const [file, text] of texts) {
    try {
      makeFolder(dirname(file));
      await writeBeside(file, text);
    } catch (cause) {
      if (isDepthwattError(cause)) throw cause;
      throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${(cause as Error).message}`, {
        cause,
      });
    }
  }
  readBack(outputs, calibration);
  return texts.map(([file]) => file);
}

/** A form that does not come back as it was is a bug: better found now than on the robot. */
function readBack({ output, opencv, ros, kalibr }: Outputs, calibration: StereoCalibration): void {
  const { imageSize } = calibration;
  const places = [output, opencv, ros === undefined ? undefined : rosFiles(ros).join(","), kalibr];
  for (const place of places) {
    if (place === undefined) continue;
    const { calibration: read } = loadStereoCalibration(place, { imageSize });
    const numbers = ({ left, right, R, T }: StereoCalibration) => [
      ...left.K,
      ...left.distortion.coefficients,
      ...right.K,
      ...right.distortion.coefficients,
      ...R,
      ...T,
    ];
    const [wrote, found] = [numbers(calibration), numbers(read)];
    const off = wrote.findIndex(
      (value, at) => !(Math.abs(value - found[at]!) <= 1e-7 * (1 + Math.abs(value))),
    );
    if (wrote.length === found.length && off < 0) continue;
    throw new DepthwattError("INTERNAL", `${place}: what was written does not read back (number ${off})`);
  }
}
