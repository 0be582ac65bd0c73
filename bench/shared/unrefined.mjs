// SPDX-License-Identifier: Apache-2.0
// What benchmarks of matchers switch off.

/** The refinement of an engine that leaves what its matcher found. */
export const UNREFINED = {
  leftRight: false,
  speckleSize: 0,
  speckleRangeQ4: 12,
  fill: "off",
  fillThresholdQ4: 96,
  boundary: false,
  median: false,
};
