// SPDX-License-Identifier: Apache-2.0
// The targets that jazzer.js calls, one function each: test/fuzz/fuzz-jazzer.mjs bundles this file, since it instruments no ES modules.
import { isDepthwattError } from "../../core/errors.js";
import { readCalibration, readFrame, readNetpbm, readStream } from "./reading.js";

/** A coded error is an answer; everything else ends the run. */
const answered = (read: (bytes: Uint8Array) => unknown) => (data: Uint8Array) => {
  try {
    read(Uint8Array.from(data));
  } catch (error) {
    if (!isDepthwattError(error) || error.code === "INTERNAL") throw error;
  }
};

export const frames = answered(readFrame);
export const netpbm = answered(readNetpbm);
export const streams = answered(readStream);
/** Next to it lies the file of ROS's right camera. */
export const calibrations = answered((bytes) => readCalibration(bytes, "scratch", "scratch/right.yaml"));
