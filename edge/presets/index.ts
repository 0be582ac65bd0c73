// SPDX-License-Identifier: Apache-2.0
// Presets: settings under one name. `--preset NAME` of every command that reads settings takes one, and so does the request "set"
// of a running program.
import { DepthwattError, type ErrorCode } from "../../core/index.js";
import { CROSS_PRESETS } from "./cross.js";
import { EXPONENTIAL_PRESETS } from "./exponential.js";
import { PRESET_GROUP_NAMES, type Preset, type PresetChoice, type PresetGroup } from "./preset.js";
import { AS_CAPTURED } from "./refinement.js";
import { SGM_PRESETS } from "./semi-global.js";
import { USE_PRESETS } from "./uses.js";
import { WINDOW_PRESETS } from "./windows.js";

export type { Figure, Preset, PresetChoice, PresetGroup, PresetValue, Sourced } from "./preset.js";
export { PRESET_GROUP_NAMES } from "./preset.js";

/** The papers match images as they are. */
const PAPER_PRESETS = Object.fromEntries(
  Object.entries({ ...SGM_PRESETS, ...CROSS_PRESETS, ...EXPONENTIAL_PRESETS, ...WINDOW_PRESETS }).map(
    ([name, preset]): [string, Preset] => [name, { ...preset, startSettings: AS_CAPTURED }],
  ),
);

/** Presets by group, in the order in which they are listed. */
export const PRESET_GROUPS: Readonly<Record<PresetGroup, Readonly<Record<string, Preset>>>> = {
  use: USE_PRESETS,
  paper: PAPER_PRESETS,
};

export const PRESETS: Readonly<Record<string, Preset>> = { ...PRESET_GROUPS.use, ...PRESET_GROUPS.paper };

export const PRESET_NAMES = Object.keys(PRESETS);

export const PRESET_CHOICES: readonly PresetChoice[] = PRESET_GROUP_NAMES.flatMap((group) =>
  Object.entries(PRESET_GROUPS[group]).map(([name, { summary }]) => ({ name, summary, group })),
);

/** How a preset is asked for: what messages name, and the code of one that does not exist. */
export interface PresetPlace {
  what: string;
  code: ErrorCode;
}

const FLAG: PresetPlace = { what: "--preset", code: "USAGE" };

/**
 * @param nearest what was probably meant, where anything is near
 * @throws DepthwattError of `place`, by default USAGE
 */
export function findPreset(
  name: string,
  nearest: (name: string, known: string[]) => string | undefined,
  { what, code }: PresetPlace = FLAG,
): Preset {
  const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
  if (preset !== undefined) return preset;
  const near = nearest(name, PRESET_NAMES);
  const guess = near === undefined ? "" : `; did you mean "${near}"?`;
  throw new DepthwattError(
    code,
    `expected ${what} to be ${PRESET_NAMES.join(", ")}, got "${name.slice(0, 60)}"${guess}`,
  );
}
