// SPDX-License-Identifier: Apache-2.0
// What a preset is.
import type { PresetChoice } from "../contracts/control.js";

export type { PresetChoice };

export type PresetValue = number | string | boolean;

/** One number that says how good a preset is, from one place, and the paper's beside it. */
export interface Figure {
  /** Data, and how errors are counted. */
  of: string;
  unit: "%" | "frames/s";
  measured?: Sourced;
  published?: Sourced;
}

export interface Sourced {
  value: number;
  /** Of a measured figure the file it is in, relative to the repository; of a published one the paper and its table. */
  from: string;
}

/** Groups in the order in which they are listed. */
export const PRESET_GROUP_NAMES = ["use", "paper"] as const satisfies readonly PresetChoice["group"][];
export type PresetGroup = (typeof PRESET_GROUP_NAMES)[number];

export interface Preset {
  /** What it is for, the rest of the sentence "NAME is ...". */
  summary: string;
  /** Where its values are from. */
  source: string;
  figures: readonly Figure[];
  /** By dotted key; live settings only. All others stay as they are. */
  settings: Readonly<Record<string, PresetValue>>;
}
