// SPDX-License-Identifier: Apache-2.0
// Opens the source that the configuration names, and the calibration that goes with its images.
import { type PairSource, RIGHT_CAMERA, type StereoCalibration } from "../../camera/index.js";
import type { Config } from "../config/index.js";
import type { OpenedSource } from "../contracts/source.js";
import { configuredCalibration } from "../pipeline/calibration.js";
import { sourceDefinition } from "../sources/section.js";
import { sourceRequirements } from "./source-requirements.js";

export interface CalibratedSource {
  source: PairSource;
  /** undefined: none was given, and the images are taken as rectified. */
  calibration: StereoCalibration | undefined;
  /** True if the source brought its calibration, and the configured one is not used. */
  brought: boolean;
  warnings: string[];
}

/** @throws DepthwattError of the source or of the calibration; a source that was opened is stopped again */
export async function openSource(
  config: Config,
  requirements = sourceRequirements(config),
): Promise<CalibratedSource> {
  const { kind } = config.source;
  const opened = await sourceDefinition(kind).open(config.source[kind], requirements);
  try {
    const rest = await calibrated(config, opened);
    return { source: opened.source, ...rest, warnings: [...rest.warnings, ...unusedCamera(config, opened)] };
  } catch (error) {
    await opened.source.stop();
    throw error;
  }
}

/** Warns of a third camera whose images go nowhere. registration.camera is a live setting, so this is no error. */
function unusedCamera({ source: { kind }, registration }: Config, { source }: OpenedSource): string[] {
  const { camera } = registration;
  if (source.description.other === undefined || (camera !== undefined && camera !== RIGHT_CAMERA)) return [];
  return [
    `the third camera's images (source.${kind}.other) are not used: expected its name in registration.camera, ` +
      `found ${camera ?? "none"}`,
  ];
}

/** @throws DepthwattError CALIBRATION_UNREADABLE, CALIBRATION_INVALID, CALIBRATION_SIZE_MISMATCH */
async function calibrated(
  config: Config,
  { source, calibration, warnings = [] }: OpenedSource,
): Promise<Omit<CalibratedSource, "source">> {
  if (calibration === undefined) {
    const { width, height } = source.description;
    const loaded = await configuredCalibration(config, { width, height });
    const all = [...warnings, ...(loaded?.warnings ?? [])];
    return { calibration: loaded?.calibration, brought: false, warnings: all };
  }
  const { file } = config.calibration;
  const unused = `calibration.file (${file}) is not used: the source "${config.source.kind}" brings its own calibration`;
  return { calibration, brought: true, warnings: file === undefined ? warnings : [...warnings, unused] };
}

/**
 * The configured calibration for images of a source that is open already and brings none.
 * @throws DepthwattError CALIBRATION_UNREADABLE, CALIBRATION_INVALID, CALIBRATION_SIZE_MISMATCH
 */
export const calibrationFor = (
  config: Config,
  source: PairSource,
): Promise<Omit<CalibratedSource, "source">> => calibrated(config, { source });
