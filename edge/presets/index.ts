// SPDX-License-Identifier: Apache-2.0
// Presets: settings under one name. One line of the table a preset; `--preset NAME` of every command that reads settings takes it.
import { DepthwattError } from "../../core/index.js";

export interface Preset {
  /** What it is for, the rest of the sentence "NAME is ...". */
  summary: string;
  /** Where its values are from. */
  source: string;
  /** By dotted key. All others stay as they are. */
  settings: Readonly<Record<string, number | string | boolean>>;
}

export const PRESETS: Readonly<Record<string, Preset>> = {
  quality: {
    summary: "more accurate for some more time: words of 62 bits",
    source: "decision 0811, measured on the research data",
    settings: {
      "match.algorithm": "sgm",
      "match.sgm.cost": "wideCensus",
      "match.sgm.p1": 16,
      "match.sgm.p2": 46,
      "match.sgm.adaptiveP2": 4,
      "match.sgm.outsideCost": 14,
    },
  },
};

export const PRESET_NAMES = Object.keys(PRESETS);

/**
 * @param nearest what was probably meant, where anything is near
 * @throws DepthwattError USAGE
 */
export function presetOf(
  name: string,
  nearest: (name: string, known: string[]) => string | undefined,
): Preset {
  const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
  if (preset !== undefined) return preset;
  const near = nearest(name, PRESET_NAMES);
  const guess = near === undefined ? "" : `; did you mean "${near}"?`;
  throw new DepthwattError(
    "USAGE",
    `expected --preset to be ${PRESET_NAMES.join(", ")}, got "${name.slice(0, 60)}"${guess}`,
  );
}
