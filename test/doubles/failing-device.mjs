// SPDX-License-Identifier: Apache-2.0
// Computes as many frames as its second argument says, one after the other, and prints their errors and the engine's state after
// each. Its own process, because the addon keeps the plugin that it has opened.
//   node test/doubles/failing-device.mjs BACKEND FRAMES
import { createEngine } from "../../dist/cuda/index.js";
import { smallEngine } from "./small-engine.mjs";

const [width, height] = [32, 16];
const [backend, frames] = process.argv.slice(2);
const engine = createEngine(smallEngine(width, height, { backend, threads: 1, slots: 2 }));
const image = new Uint8Array(width * height);
const states = [];
for (let frame = 0; frame < Number(frames); frame++) {
  const error = await engine.compute(image, image).then(
    () => undefined,
    ({ code, message }) => ({ code, message }),
  );
  const { backend: used, backendReason, memory } = engine.info;
  states.push({ error, backend: used, backendReason, memory });
}
console.log(JSON.stringify(states));
engine.close();
