// SPDX-License-Identifier: Apache-2.0
// The options of an engine for small grey pictures: sgm by census, nothing repaired but by the left-right check and the median.

/** @param options those that differ, by name, on top */
export const smallEngine = (width, height, options) => ({
  inputWidth: width,
  inputHeight: height,
  width,
  height,
  leftFormat: "GREY",
  rightFormat: "GREY",
  leftStrideBytes: width,
  rightStrideBytes: width,
  match: {
    algorithm: "sgm",
    halfResolution: false,
    minDisparity: 0,
    numDisparities: 16,
    parameters: { cost: "census", paths: 4, p1: 10, p2: 60, adaptiveP2: 0, uniqueness: 5, subpixel: true },
  },
  refine: {
    leftRight: true,
    median: true,
    speckleSize: 0,
    speckleRange: 1,
    fill: "off",
    fillThreshold: 1,
    boundary: false,
  },
  ...options,
});
