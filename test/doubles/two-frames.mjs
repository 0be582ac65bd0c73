// SPDX-License-Identifier: Apache-2.0
// Computes eight frames, as many at once as the engine takes, and prints the first disparity of each: with two_frames_plugin.cc
// its place. A process of its own, because the addon keeps the plugin that it has opened.
import { createEngine } from "../../dist/cuda/index.js";

const [width, height] = [32, 16];
const engine = createEngine({
  inputWidth: width,
  inputHeight: height,
  width,
  height,
  leftFormat: "GREY",
  rightFormat: "GREY",
  leftStrideBytes: width,
  rightStrideBytes: width,
  backend: "cuda",
  threads: 1,
  slots: 8,
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
    speckleRangeQ4: 16,
    fill: "off",
    fillThresholdQ4: 16,
    boundary: false,
  },
});
const image = new Uint8Array(width * height);
const places = await Promise.all(
  engine.slots.map(
    ({ disparityQ4 }, slot) =>
      new Promise((resolve, reject) =>
        engine.submit(slot, image, image, (error) => (error ? reject(error) : resolve(disparityQ4[0]))),
      ),
  ),
);
console.log(JSON.stringify({ framesInFlight: engine.framesInFlight, places }));
engine.close();
