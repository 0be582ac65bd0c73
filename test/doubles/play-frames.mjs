// SPDX-License-Identifier: Apache-2.0
// A camera that is a file: writes its frames one after the other, each held for a while, from the beginning again at the end.
// usage: node play-frames.mjs FILE FRAME_BYTES RATE_HZ HOLD_FRAMES
import { readFileSync } from "node:fs";

const [file, frameBytes, rateHz, hold] = process.argv.slice(2);
const size = Number(frameBytes);
const frames = readFileSync(file);
const count = frames.length / size;
let at = 0;
let room = true;
process.stdout.on("drain", () => {
  room = true;
});
process.stdout.on("error", () => process.exit(0));
setInterval(() => {
  if (!room) return;
  const frame = Math.floor(at++ / Number(hold)) % count;
  room = process.stdout.write(frames.subarray(frame * size, (frame + 1) * size));
}, 1000 / Number(rateHz));
