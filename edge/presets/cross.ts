// SPDX-License-Identifier: Apache-2.0
// Presets of Chang and Maruyama: cross-based aggregation with the paper's arms, at half and at full resolution.
import type { Preset } from "./preset.js";
import { NOTHING_REFINED } from "./refinement.js";

const RESULTS = "bench/results/intel-xeon-2-cores/2026-11-26-f0a56c1-paper-presets.json";

function chang(half: boolean, armX: number, armY: number, published: number, aloe: number): Preset {
  return {
    summary: `cross-based aggregation as Chang and Maruyama have it at ${half ? "half" : "full"} resolution: arms ${armX} x ${armY}, the matcher's own cross-check, median and bilateral estimation alone; fitted: the six points of the mini-census and the unit of lambda_AD`,
    source: `Chang and Maruyama, section V; delta 13 is TC of table II; what the paper leaves open: cuda/match/cbca/README.md`,
    figures: [
      {
        of: "Middlebury v3 training, off by more than 2 px at full size",
        unit: "%",
        published: { value: published, from: "Chang and Maruyama, section V" },
      },
      { of: "Aloe, off by more than 2 px", unit: "%", measured: { value: aloe, from: RESULTS } },
    ],
    settings: {
      "match.algorithm": "cbca",
      "match.halfResolution": half,
      "match.cbca.armX": armX,
      "match.cbca.armY": armY,
      // Both views have the same arms.
      "match.cbca.armXRight": -1,
      "match.cbca.armYRight": -1,
      "match.cbca.similarity": 13,
      "match.cbca.lambdaDifference": 300,
      "match.cbca.lambdaUnit": "fullScale",
      "match.cbca.lambdaCensus": 23,
      "match.cbca.threshold": 3,
      ...NOTHING_REFINED,
    },
  };
}

export const CROSS_PRESETS: Readonly<Record<string, Preset>> = {
  "chang-half": chang(true, 21, 31, 24.09, 13.499),
  "chang-full": chang(false, 41, 61, 32.82, 12.071),
};
