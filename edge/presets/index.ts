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

/** A matcher by itself, as its thesis evaluates it. */
const NOTHING_REFINED = {
  "refine.leftRight": false,
  "refine.speckleSize": 0,
  "refine.fill": "off",
  "refine.boundary": false,
  "refine.median": false,
};

/** Prehn 2007: windows of the tables, with the weights of section 7.1. */
function windowSad(side: number): Preset {
  return {
    summary: `window sums of ${side} x ${side} as table 7.2 of Prehn 2007 has them, nothing refined`,
    source: "Prehn 2007, section 7.1",
    settings: {
      "match.algorithm": "sad",
      "match.sad.windowWidth": side,
      "match.sad.windowHeight": side,
      "match.sad.hueWeight": 20,
      "match.sad.saturationWeight": 30,
      "match.sad.valueWeight": 50,
      ...NOTHING_REFINED,
    },
  };
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
  "sad-5": {
    summary:
      "window sums with the defaults of Prehn 2007: disparities 0 to 32, 5 x 5, weights of 0.3, nothing refined",
    source: "Prehn 2007, section 5.2",
    settings: {
      "match.algorithm": "sad",
      "match.numDisparities": 33,
      "match.sad.windowWidth": 5,
      "match.sad.windowHeight": 5,
      "match.sad.hueWeight": 30,
      "match.sad.saturationWeight": 30,
      "match.sad.valueWeight": 30,
      ...NOTHING_REFINED,
    },
  },
  "sad-3": windowSad(3),
  "sad-5t": windowSad(5),
  "sad-7": windowSad(7),
  pyramid: {
    summary:
      "window sums refined from small copies as table 7.3 of Prehn 2007 has them, nothing refined after",
    source: "Prehn 2007, section 7.1",
    settings: { "match.algorithm": "pyramid", ...NOTHING_REFINED },
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
