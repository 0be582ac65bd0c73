// SPDX-License-Identifier: Apache-2.0
// What a preset is.

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

/** A preset as it is told to those who choose one. */
export interface PresetChoice {
  name: string;
  summary: string;
}

export interface Preset {
  /** What it is for, the rest of the sentence "NAME is ...". */
  summary: string;
  /** Where its values are from. */
  source: string;
  figures: readonly Figure[];
  /** By dotted key; live settings only. All others stay as they are. */
  settings: Readonly<Record<string, PresetValue>>;
}
