// SPDX-License-Identifier: Apache-2.0
// Defines a kind of source: its settings, their rule, and how to open it. Each kind is a folder next to this file.
import type { z } from "zod";
import type { PairSource, StereoCalibration } from "../../camera/index.js";
import type { Exact } from "./setting.js";

/** Uses that the run has for the images apart from grey. */
export interface SourceRequirements {
  /** Colours are read, so that images which can have them should; grey ones are used as red = green = blue. */
  colours: boolean;
}

export interface OpenedSource {
  /** Opened, not started. The receiver must stop it. */
  source: PairSource;
  /** The calibration that the source brings; absent: the configured one holds, where there is one. */
  calibration?: StereoCalibration;
  /** Warnings for the user before the first pair. */
  warnings?: string[];
}

/** A rule between the settings of one source that is broken. */
export interface BrokenSetting {
  /** The keys of the settings involved, such as source.replay.left. */
  keys: string[];
  /** One clause: what was expected, and what came. */
  text: string;
}

export interface SourceDefinition<Section extends z.ZodObject> {
  /** A clause for the reference of `source.kind`, such as "images on disk". */
  summary: string;
  /** The section `source.KIND`. The flags --left, --right, --side-by-side and --rate set its left, right, sideBySide, rateHz. */
  settings: Section;
  /** True for what --left or --side-by-side may name to mean this kind where --source is not given. */
  takesPath?(path: string): boolean;
  /** True if the source begins again from its start each time it is opened. */
  isRecording?: true;
  /** Checks what types and ranges cannot; called only if this kind is chosen. `section` is "source.KIND". */
  broken?(settings: Exact<z.infer<Section>>, section: string): BrokenSetting | undefined;
  /** @throws DepthwattError SOURCE_*, DEVICE_*, CONFIG_INVALID; what was opened before is closed again */
  open(settings: Exact<z.infer<Section>>, requirements: SourceRequirements): Promise<OpenedSource>;
}

/** Ties the types of a definition together. */
export function defineSource<Section extends z.ZodObject>(
  definition: SourceDefinition<Section>,
): SourceDefinition<Section> {
  return definition;
}
