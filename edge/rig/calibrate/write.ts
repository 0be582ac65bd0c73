// SPDX-License-Identifier: Apache-2.0
// Writes a calibration to files. Overwrites nothing unless requested, and reads each file back.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  loadStereoCalibration,
  makeFolder,
  type StereoCalibration,
  stringifyCalibration,
  stringifyKalibr,
  stringifyOpenCv,
  stringifyRos,
} from "../../../camera/index.js";
import { DepthwattError, hasCode, isDepthwattError, writeBeside } from "../../../core/index.js";

export interface Outputs {
  readonly output: string;
  readonly opencv?: string | undefined;
  /** A folder: left.yaml and right.yaml. */
  readonly ros?: string | undefined;
  readonly kalibr?: string | undefined;
  readonly report?: string | undefined;
}

const rosFiles = (folder: string) => [join(folder, "left.yaml"), join(folder, "right.yaml")] as const;

function outputFiles({ output, opencv, ros, kalibr, report }: Outputs): string[] {
  const files = [output, opencv, ...(ros === undefined ? [] : rosFiles(ros)), kalibr, report];
  return files.filter((file) => file !== undefined);
}

/** Before anything is computed: a place that cannot be written is reported now. @throws DepthwattError FILE_EXISTS, OUTPUT_UNWRITABLE, USAGE */
export function checkPlaces(outputs: Outputs, force: boolean): void {
  const files = outputFiles(outputs);
  const twice = files.find((file, at) => files.indexOf(file) !== at);
  if (twice !== undefined) {
    throw new DepthwattError("USAGE", `expected every result to have its own file, two go to ${twice}`, {
      hint: "Give each its own name.",
    });
  }
  for (const file of files) {
    const folder = dirname(file);
    try {
      makeFolder(folder);
      accessSync(folder, constants.W_OK);
      if (existsSync(file) && statSync(file).isDirectory()) throw new Error("it is a folder");
    } catch (cause) {
      if (isDepthwattError(cause)) throw cause;
      const why = (cause as Error).message;
      throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${why}`, { cause });
    }
  }
  const there = files.find((file) => existsSync(file));
  if (there === undefined || force) return;
  throw new DepthwattError("FILE_EXISTS", `${there}: expected no such file, it is there already`, {
    context: { file: there },
  });
}

/**
 * Writes all forms, and reads each back. @returns the files, in the order in which they were written
 * @throws DepthwattError FILE_EXISTS, OUTPUT_UNWRITABLE; CALIBRATION_INVALID where a form cannot hold this lens
 */
export async function writeOutputs(
  outputs: Outputs,
  calibration: StereoCalibration,
  report: string | undefined,
  force: boolean,
): Promise<string[]> {
  checkPlaces(outputs, force);
  const written: string[] = [];
  const put = async (file: string, text: string) => {
    try {
      makeFolder(dirname(file));
      await writeBeside(file, text);
    } catch (cause) {
      if (isDepthwattError(cause)) throw cause;
      const why = (cause as Error).message;
      throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${why}`, { cause });
    }
    written.push(file);
  };
  const { output, opencv, ros, kalibr } = outputs;
  // Our format needs no rectification and comes first: a lens that no flat image can hold fails only for OpenCV and
  // ROS.
  await put(output, stringifyCalibration(calibration));
  if (outputs.report !== undefined && report !== undefined) await put(outputs.report, report);
  try {
    if (kalibr !== undefined) await put(kalibr, stringifyKalibr(calibration));
    if (opencv !== undefined) await put(opencv, stringifyOpenCv(calibration));
    if (ros !== undefined) {
      const { left, right } = stringifyRos(calibration);
      const [l, r] = rosFiles(ros);
      await put(l, left);
      await put(r, right);
    }
  } catch (error) {
    if (!hasCode(error, "CALIBRATION_INVALID")) throw error;
    const { message, hint, code } = error as DepthwattError;
    throw new DepthwattError(code, `${message} ${written.join(", ")}: written all the same.`, {
      cause: error,
      hint,
    });
  }
  readBack(outputs, calibration);
  return written;
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
