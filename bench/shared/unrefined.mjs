// SPDX-License-Identifier: Apache-2.0
// Settings that benchmarks of matchers switch off.

/**
 * The refinement of an engine that leaves what its matcher found.
 * @type {import("../../cuda/index.js").EngineOptions["refine"]}
 */
export const UNREFINED = {
  leftRight: false,
  speckleSize: 0,
  speckleRange: 0.75,
  fill: "off",
  fillThreshold: 6,
  boundary: false,
  median: false,
};
