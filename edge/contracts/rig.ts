// SPDX-License-Identifier: Apache-2.0
// Describes the cameras to outputs.
import type { Rectification, SourceDescription, StereoCalibration } from "../../camera/index.js";

/** The cameras as they were calibrated, and how their images are rectified. */
export interface Rig {
  calibration: StereoCalibration;
  rectification: Rectification;
}

/** How the captured images are in memory. */
export type InputLayout = Pick<
  SourceDescription,
  "width" | "height" | "leftFormat" | "rightFormat" | "leftStrideBytes" | "rightStrideBytes"
>;
