// SPDX-License-Identifier: Apache-2.0
// Opens the source that the configuration names, and the calibration that goes with its images.
import type { PairSource, StereoCalibration } from "../../camera/index.js";
import type { Config } from "../config/index.js";
import { configuredCalibration } from "../pipeline/calibration.js";
import { definitionOf } from "./section.js";

export interface CalibratedSource {
  source: PairSource;
  /** undefined: none was given, and the images are taken as rectified. */
  calibration: StereoCalibration | undefined;
  warnings: string[];
}

/** @throws DepthwattError of the source or of the calibration; a source that was opened is stopped again */
export async function openSource(config: Config): Promise<CalibratedSource> {
  const { kind } = config.source;
  const { source, calibration, warnings = [] } = await definitionOf(kind).open(config.source[kind]);
  if (calibration !== undefined) {
    const { file } = config.calibration;
    const unused = `calibration.file (${file}) is not used: the source "${kind}" brings its own calibration`;
    return { source, calibration, warnings: file === undefined ? warnings : [...warnings, unused] };
  }
  try {
    const { width, height } = source.description;
    const loaded = configuredCalibration(config, { width, height });
    return {
      source,
      calibration: loaded?.calibration,
      warnings: [...warnings, ...(loaded?.warnings ?? [])],
    };
  } catch (error) {
    await source.stop();
    throw error;
  }
}
