// SPDX-License-Identifier: Apache-2.0
// Defines a preset: its settings, their source and the measured accuracy.
import type { PresetChoice } from "../contracts/control.js";

export type { PresetChoice };

export type PresetValue = number | string | boolean;

/** One accuracy number of a preset, its source, and the number that the paper prints. */
export interface Figure {
  /** Data, and how errors are counted. */
  of: string;
  unit: "%" | "frames/s";
  measured?: Sourced;
  published?: Sourced;
}

export interface Sourced {
  value: number;
  /** Source: of a measured figure the file, relative to the repository; of a published one the paper and its table. */
  from: string;
}

/** Groups in the order in which they are listed. */
export const PRESET_GROUP_NAMES = ["use", "paper"] as const satisfies readonly PresetChoice["group"][];
export type PresetGroup = (typeof PRESET_GROUP_NAMES)[number];

export interface Preset {
  /** The rest of the sentence "NAME is ...": its purpose. */
  summary: string;
  /** Where its values are from. */
  source: string;
  figures: readonly Figure[];
  /** By dotted key; live settings only. All others stay as they are. */
  settings: Readonly<Record<string, PresetValue>>;
  /** By dotted key; settings that take effect only at the start. A running program keeps its own. */
  startSettings?: Readonly<Record<string, PresetValue>>;
}
