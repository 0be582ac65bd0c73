// SPDX-License-Identifier: Apache-2.0
// The preset of Hernandez-Juarez et al. 2016: semi-global matching.
import type { Preset } from "./preset.js";
import { MEDIAN_ONLY } from "./refinement.js";
import { researchFigures } from "./research-figures.js";

const RESULTS = "bench/results/intel-xeon-2-cores/2026-11-26-f0a56c1-paper-presets.json";

export const SGM_PRESETS: Readonly<Record<string, Preset>> = {
  "sgm-2016": {
    summary:
      "semi-global matching as Hernandez-Juarez et al. 2016 have it: census, 4 paths, fixed P2, whole pixels, median only; not printed: P1 and P2, from the authors' program",
    source:
      "Hernandez-Juarez et al. 2016; the paper prints neither P1 nor P2: 7 and 86 are those of README.md of the authors' github.com/dhernandez0/sgm (commit 228f435, 4 paths, KITTI 2015)",
    figures: [
      ...researchFigures(RESULTS, 14.507, 26.319, 20.345, 7.263),
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
      "match.sgm.search": "full",
      "match.sgm.subpixel": false,
      ...MEDIAN_ONLY,
    },
  },
};
