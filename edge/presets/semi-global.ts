// SPDX-License-Identifier: Apache-2.0
// Presets of semi-global matching: our best, and Hernandez-Juarez et al. 2016.
import type { Figure, Preset } from "./preset.js";
import { MEDIAN_ONLY, REFINED } from "./refinement.js";

const RESULTS = "bench/results/amd-epyc-2-cores/2026-11-22-c2a61f9-presets.json";
const KEPT_RESULTS = "bench/results/amd-epyc-2-cores/2026-11-24-303cea9-kept-at-density.json";
const QUALITY_RESULTS = "bench/results/amd-epyc-2-cores/2026-11-23-777c5a6-presets.json";

/** Mean percent bad of the shared scenes. */
const figures = (v2: number, third: number, motorcycle: number, kitti: number, from = RESULTS): Figure[] =>
  [
    ["Middlebury v2, off by more than 1 px, mean of nonocc, all and disc of four scenes", v2] as const,
    ["Middlebury 2005 and 2006, third size, off by more than 1 px, mean of six scenes", third] as const,
    ["MotorcycleQ of Middlebury 2014, off by more than 1 px", motorcycle] as const,
    ["KITTI 2015, nonocc, off by more than 3 px, mean of five scenes", kitti] as const,
  ].map(([of, value]) => ({ of, unit: "%", measured: { value, from } }));

const QUALITY = {
  "match.algorithm": "sgm",
  "match.halfResolution": "auto",
  "match.sgm.cost": "wideCensus",
  "match.sgm.paths": 4,
  "match.sgm.p1": 14,
  "match.sgm.p2": 46,
  "match.sgm.adaptiveP2": 8,
  // What is not unique has a low confidence; without the test a fiftieth more pixels are matched.
  "match.sgm.uniqueness": 0,
  "match.sgm.outsideCost": 14,
  "match.sgm.rightView": "own",
  "match.sgm.subpixel": true,
  ...REFINED,
  "refine.speckleSize": 40,
  "refine.rounds": 2,
} as const;

export const SGM_PRESETS: Readonly<Record<string, Preset>> = {
  quality: {
    summary:
      "more accurate for more time: words of 62 bits, a right view of its own, two rounds of refinement",
    source: "measured on the research data (decision 0033)",
    figures: figures(4.882, 12.529, 8.253, 4.243, QUALITY_RESULTS),
    settings: QUALITY,
  },
  "quality-unfilled": {
    summary: "quality for maps with holes: larger penalties, and what was not matched stays empty",
    source: "measured on the research data (decision 0033)",
    figures: [
      {
        of: "17 scenes of five sets, off by more than the set's threshold, of the surest 80 %",
        unit: "%",
        measured: { value: 2.831, from: KEPT_RESULTS },
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
  "sgm-2016": {
    summary:
      "semi-global matching as Hernandez-Juarez et al. 2016 have it: census, 4 paths, fixed P2, whole pixels, median only",
    source:
      "Hernandez-Juarez et al. 2016; the paper prints neither P1 nor P2: 7 and 86 are those of README.md of the authors' github.com/dhernandez0/sgm (commit 228f435, 4 paths, KITTI 2015)",
    figures: [
      ...figures(14.507, 26.319, 18.774, 6.862),
      {
        of: "Tegra X1, 640x480, 128 disparities",
        unit: "frames/s",
        published: { value: 42, from: "Hernandez-Juarez et al. 2016, figure 6" },
      },
    ],
    settings: {
      "match.algorithm": "sgm",
      "match.halfResolution": "auto",
      "match.sgm.cost": "census",
      "match.sgm.paths": 4,
      "match.sgm.p1": 7,
      "match.sgm.p2": 86,
      "match.sgm.adaptiveP2": 0,
      "match.sgm.uniqueness": 0,
      // The paper does not speak of candidates outside the right image; with 63 they never win.
      "match.sgm.outsideCost": 63,
      "match.sgm.rightView": "diagonal",
      "match.sgm.subpixel": false,
      ...MEDIAN_ONLY,
    },
  },
};
