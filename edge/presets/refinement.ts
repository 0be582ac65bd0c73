// SPDX-License-Identifier: Apache-2.0
// What happens after matching, as the presets have it. Each states all of it, because a running program goes from one preset to
// another, and nothing of the first may be left.

export const REFINED = {
  "refine.leftRight": true,
  "refine.confidence": "probability",
  "refine.repair": false,
  "refine.speckleSize": 60,
  "refine.speckleRange": 0.75,
  "refine.fill": "background",
  "refine.fillThreshold": 6,
  "refine.upscaleThreshold": 3,
  "refine.boundary": true,
  "refine.median": true,
  "refine.rounds": 1,
} as const;

/** Whole disparities step by more than speckleRange on every slope, and speckles are what is left of it. */
export const WITHOUT_SPECKLE_FILTER = { ...REFINED, "refine.speckleSize": 0 } as const;

/** The 3 x 3 median of a paper, and nothing else. */
export const MEDIAN_ONLY = {
  ...WITHOUT_SPECKLE_FILTER,
  "refine.leftRight": false,
  "refine.fill": "off",
  "refine.boundary": false,
} as const;

/** A matcher by itself. */
export const NOTHING_REFINED = { ...MEDIAN_ONLY, "refine.median": false } as const;
