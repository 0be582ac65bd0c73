// SPDX-License-Identifier: Apache-2.0
// Computes eight frames, as many at once as the engine takes, and prints the first disparity of each: with two_frames_plugin.cc
// its place. Its own process, because the addon keeps the plugin that it has opened.
import { createEngine } from "../../dist/cuda/index.js";
import { smallEngine } from "./small-engine.mjs";

const [width, height] = [32, 16];
const engine = createEngine(smallEngine(width, height, { backend: "cuda", threads: 1, slots: 8 }));
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
