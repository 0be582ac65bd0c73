// SPDX-License-Identifier: Apache-2.0
// Computes frames on an engine, two at a time where it takes two, and prints what came of each: its own process, so that
// a test can break its device. node test/doubles/cuda-frames.mjs BACKEND FRAMES [FOLDER]
// With FOLDER each picture is in a file there, which stands for a driver's DMA buffer: the engine's own view of it is empty.
import { createHash } from "node:crypto";
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createEngine } from "../../dist/cuda/index.js";
import { smallEngine } from "./small-engine.mjs";

const [backend, count] = [process.argv[2], Number(process.argv[3])];
const [width, height] = [48, 24];
const options = smallEngine(width, height, { backend, threads: 1, slots: 4 });

// Each frame is another picture, and is in one of four buffers that the engine knows.
const pictures = Array.from({ length: 4 }, () => ({
  left: new Uint8Array(width * height),
  right: new Uint8Array(width * height),
}));
function draw(frame, { left, right }) {
  let state = 77 + frame;
  for (let i = 0; i < left.length; ++i) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    left[i] = state >> 16;
  }
  for (let i = 0; i < right.length; ++i) right[i] = left[Math.min(i + 2 + (frame % 5), left.length - 1)];
}

const folder = process.argv[4];
const files = new Map();
const inputMemory = pictures.flatMap(({ left, right }) => [left, right]);
if (folder !== undefined) {
  for (const [index, bytes] of inputMemory.entries()) {
    const dmaBuffer = openSync(join(folder, `buffer-${index}`), "w+");
    files.set(bytes, dmaBuffer);
    writeSync(dmaBuffer, bytes);
    inputMemory[index] = { bytes, dmaBuffer };
  }
}
/** Moves what was drawn to the files. */
function exportPicture(picture) {
  for (const bytes of Object.values(picture)) {
    if (!files.has(bytes)) continue;
    writeSync(files.get(bytes), bytes, 0, bytes.length, 0);
    bytes.fill(0);
  }
}
const engine = createEngine({ ...options, inputMemory });
const say = (what) => console.log(JSON.stringify(what));
const addresses = engine.info;
say({ info: addresses });
let next = 0;
let busy = 0;
const free = [0, 1, 2, 3];
await new Promise((resolve) => {
  const submit = () => {
    while (busy < engine.framesInFlight && next < count && free.length > 0) {
      const [frame, slot] = [next++, free.shift()];
      draw(frame, pictures[slot]);
      exportPicture(pictures[slot]);
      ++busy;
      engine.submit(slot, pictures[slot].left, pictures[slot].right, (error) => {
        --busy;
        free.push(slot);
        const { disparityQ4, confidence } = engine.slots[slot];
        const hash = createHash("sha256").update(disparityQ4).update(confidence).digest("hex");
        const stages = engine.stageMilliseconds.filter((value) => !Number.isNaN(value)).length;
        say(error === null ? { frame, hash, stages } : { frame, code: error.code, message: error.message });
        if (error !== null && error.code !== "FRAME_LOST") next = count;
        submit();
      });
    }
    if (busy === 0) resolve();
  };
  submit();
});
say({ info: engine.info });
engine.close();
