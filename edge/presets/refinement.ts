// SPDX-License-Identifier: Apache-2.0
// The stages after matching, as the presets set them. Each states every setting, because a running program changes from one preset to
// another, and nothing of the first may remain.
import { type ParameterValue, sectionDefaults } from "../../cuda/index.js";

type RefineKeys = Readonly<Record<string, ParameterValue>>;

/** The defaults of every refine.* setting, and images that are matched one by one. */
export const REFINED: RefineKeys = { ...sectionDefaults("refine"), "match.average": false };

/** Off, because whole disparities step by more than speckleRange on every slope, which leaves speckles. */
export const WITHOUT_SPECKLE_FILTER: RefineKeys = { ...REFINED, "refine.speckleSize": 0 };

/** The 3 x 3 median of a paper, and nothing else. */
export const MEDIAN_ONLY: RefineKeys = {
  ...WITHOUT_SPECKLE_FILTER,
  "refine.leftRight": false,
  "refine.fill": "off",
  "refine.boundary": false,
};

/** Images as they were captured: without denoising and without a vertical offset. */
export const AS_CAPTURED: RefineKeys = { "match.denoise": "off", "rectify.verticalOffset": 0 };

/** A matcher without refinement. */
export const NOTHING_REFINED: RefineKeys = { ...MEDIAN_ONLY, "refine.median": false };
