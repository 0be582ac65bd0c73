// SPDX-License-Identifier: Apache-2.0
// Presets named after a use: speed, accuracy, density, a robot, a fixed camera.
import { findMatcher } from "../../cuda/index.js";
import type { Preset } from "./preset.js";
import { REFINED } from "./refinement.js";
import { researchFigures } from "./research-figures.js";

const KEPT_RESULTS = "bench/results/intel-xeon-2-cores/2026-11-28-440bb08-kept-at-density.json";
const FAST_RESULTS = "bench/results/intel-xeon-2-cores/2026-11-26-9325be7-presets.json";
const RESULTS = "bench/results/amd-epyc-2-cores/2026-11-25-ce2f1d5-presets.json";
const SLANT_RESULTS = "bench/results/intel-xeon-2-cores/2026-11-28-440bb08-presets.json";

const BALANCED = {
  "match.algorithm": "sgm",
  "match.halfResolution": "auto",
  ...Object.fromEntries(
    findMatcher("sgm").parameters.map(({ key, default: value }) => [`match.sgm.${key}`, value]),
  ),
  ...REFINED,
} as const;

const QUALITY = {
  "match.algorithm": "sgm",
  "match.halfResolution": "auto",
  "match.sgm.cost": "wideCensus",
  "match.sgm.paths": 4,
  "match.sgm.p1": 14,
  "match.sgm.p2": 46,
  "match.sgm.adaptiveP2": 8,
  // Pixels that are not unique have a low confidence. Without the test 2 % more pixels are matched.
  "match.sgm.uniqueness": 0,
  "match.sgm.outsideCost": 14,
  "match.sgm.rightView": "own",
  // From coarse to fine, the third-size set has 12.8 % instead of 12.5 % bad pixels.
  "match.sgm.search": "full",
  "match.sgm.subpixel": true,
  ...REFINED,
  "refine.speckleSize": 40,
  "refine.rounds": 2,
  "refine.slant": true,
} as const;

export const USE_PRESETS: Readonly<Record<string, Preset>> = {
  fast: {
    summary:
      "matches at half resolution, ranges above 128 disparities from coarse to fine: about four times faster than balanced, less detail",
    source: "measured on the research data (decisions 0035 and 0042)",
    figures: researchFigures(FAST_RESULTS, 13.415, 22.578, 14.789, 4.775),
    // Not auto: a preset gives the same depth on every machine.
    settings: { ...BALANCED, "match.halfResolution": true, "match.sgm.search": "coarseToFine" },
  },
  balanced: {
    summary: "the default settings",
    source: "measured on the research data (decision 0033)",
    figures: researchFigures(RESULTS, 5.435, 13.79, 8.803, 3.987),
    settings: BALANCED,
  },
  quality: {
    summary:
      "most accurate, about twice the time: 62-bit census, separate right-image match, two refinement passes, local planes",
    source: "measured on the research data (decision 0033)",
    figures: researchFigures(SLANT_RESULTS, 4.656, 12.377, 8.1, 4.173),
    settings: QUALITY,
  },
  dense: {
    summary: "a depth for every pixel: fills pixels without a match, two refinement passes, local planes",
    source: "measured on the research data (decision 0034)",
    figures: researchFigures(SLANT_RESULTS, 5.121, 13.606, 8.637, 3.91),
    settings: { ...BALANCED, "refine.fill": "background", "refine.rounds": 2, "refine.slant": true },
  },
  robot: {
    summary: "only pixels that are very likely right, nothing filled, averaged over time where nothing moves",
    source: "measured on the research data (decision 0038)",
    figures: [
      {
        of: "17 scenes of five sets, off by more than the set's threshold, of the pixels kept",
        unit: "%",
        measured: { value: 1.431, from: RESULTS },
      },
      {
        of: "17 scenes of five sets, pixels kept",
        unit: "%",
        measured: { value: 66.266, from: RESULTS },
      },
    ],
    settings: { ...BALANCED, "refine.minConfidence": 0.94, "refine.temporal": true },
  },
  "still-camera": {
    summary:
      "for a camera that does not move: averages over time where nothing moves, a fifth of the flicker, fewer errors",
    source: "measured on the research data (decision 0039)",
    figures: [],
    settings: { ...BALANCED, "refine.temporal": true, "match.average": true },
  },
  "quality-unfilled": {
    summary: "quality for maps with holes: larger penalties, pixels without a match stay empty",
    source: "measured on the research data (decision 0033)",
    figures: [
      {
        of: "17 scenes of five sets, off by more than the set's threshold, of the surest 80 %",
        unit: "%",
        measured: { value: 2.748, from: KEPT_RESULTS },
      },
    ],
    settings: {
      ...QUALITY,
      "match.sgm.p1": 20,
      "match.sgm.p2": 63,
      "match.sgm.adaptiveP2": 10,
      "refine.speckleSize": 60,
      "refine.speckleRange": 1,
      "refine.fill": "off",
    },
  },
};
