// SPDX-License-Identifier: Apache-2.0
// Presets of semi-global matching: our best, and Hernandez-Juarez et al. 2016.
import type { Figure, Preset } from "./preset.js";
import { MEDIAN_ONLY, REFINED } from "./refinement.js";

const DECISION = "docs/decisions/0811-words-of-two-registers.md";

const ofQuality = (of: string, value: number): Figure => ({
  ...{ of, unit: "%" },
  measured: { value, from: DECISION },
});

export const SGM_PRESETS: Readonly<Record<string, Preset>> = {
  quality: {
    summary: "more accurate for some more time: words of 62 bits",
    source: "decision 0811, measured on the research data",
    figures: [
      ofQuality("Middlebury v2, off by more than 1 px, mean of nonocc, all and disc of four scenes", 5.36),
      ofQuality("Middlebury 2005 and 2006, third size, off by more than 1 px, mean of six", 13.17),
      ofQuality("MotorcycleQ of Middlebury 2014, off by more than 1 px", 8.58),
      ofQuality("KITTI 2015, off by more than 3 px, mean of five", 4.51),
    ],
    settings: {
      "match.algorithm": "sgm",
      "match.halfResolution": "auto",
      "match.sgm.cost": "wideCensus",
      "match.sgm.paths": 4,
      "match.sgm.p1": 16,
      "match.sgm.p2": 46,
      "match.sgm.adaptiveP2": 4,
      "match.sgm.uniqueness": 8,
      "match.sgm.outsideCost": 14,
      "match.sgm.subpixel": true,
      ...REFINED,
    },
  },
  "sgm-2016": {
    summary:
      "semi-global matching as Hernandez-Juarez et al. 2016 have it: census, 4 paths, fixed P2, whole pixels, median only",
    source:
      "Hernandez-Juarez et al. 2016; the paper prints neither P1 nor P2: 7 and 86 are those of README.md of the authors' github.com/dhernandez0/sgm (commit 228f435, 4 paths, KITTI 2015)",
    figures: [
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
      "match.sgm.subpixel": false,
      ...MEDIAN_ONLY,
    },
  },
};
