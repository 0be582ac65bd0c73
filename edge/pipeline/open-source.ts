// SPDX-License-Identifier: Apache-2.0
// Opens the source that the configuration names, and the calibration that goes with its images.
import {
  openReplaySource,
  openV4l2Source,
  type PairSource,
  type StereoCalibration,
  SyntheticSource,
} from "../../camera/index.js";
import { loadNative } from "../native.js";
import type { Config } from "../config/index.js";
import { configuredCalibration } from "./calibration.js";

export interface OpenedSource {
  source: PairSource;
  /** undefined: none was given, and the images are taken as rectified. */
  calibration: StereoCalibration | undefined;
  warnings: string[];
}

/** @throws DepthwattError of the source or of the calibration; a source that was opened is stopped again */
export async function openSource(config: Config): Promise<OpenedSource> {
  const { kind, left, right, sideBySide, rateHz, loop, timestamps, width, height } = config.source;
  if (kind === "v4l2") return openCameras(config);
  if (kind === "synthetic") {
    const source = new SyntheticSource(loadNative(), { width, height, rateHz });
    const unused = `calibration.file (${config.calibration.file}) is not used: the synthetic scene brings its own`;
    const warnings = config.calibration.file === undefined ? [] : [unused];
    return { source, calibration: source.calibration, warnings };
  }
  const source = await openReplaySource({
    ...(left === undefined ? {} : { left }),
    ...(right === undefined ? {} : { right }),
    ...(sideBySide === undefined ? {} : { sideBySide }),
    rateHz,
    loop,
    timestamps,
  });
  return withCalibration(config, source, []);
}

async function openCameras(config: Config): Promise<OpenedSource> {
  const settings = config.source;
  const { left, right, sideBySide, rateHz, maxSkewMs, controls } = settings;
  const native = loadNative();
  const notes: string[] = [];
  const source = await openV4l2Source(
    {
      ...(left !== undefined && { left }),
      ...(right !== undefined && { right }),
      ...(sideBySide !== undefined && { sideBySide }),
      ...(rateHz !== "max" && { rateHz }),
      ...(maxSkewMs !== undefined && { maxSkewMs }),
      ...(controls !== undefined && { controls }),
      width: settings.width,
      height: settings.height,
      format: settings.format,
      rephase: settings.rephase,
      autoExposure: settings.autoExposure,
      rawAlignment: settings.rawAlignment,
      buffers: settings.buffers,
      memory: settings.memory,
    },
    { video: native.video, clocks: () => native.clocks(), onNote: (note) => notes.push(note) },
  );
  return withCalibration(config, source, notes);
}

async function withCalibration(config: Config, source: PairSource, notes: string[]): Promise<OpenedSource> {
  try {
    const { width, height } = source.description;
    const loaded = configuredCalibration(config, { width, height });
    return { source, calibration: loaded?.calibration, warnings: [...notes, ...(loaded?.warnings ?? [])] };
  } catch (error) {
    await source.stop();
    throw error;
  }
}
