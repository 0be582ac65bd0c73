// SPDX-License-Identifier: Apache-2.0
// Reads a camera in memory and prints what a frame leaves on JavaScript's heap; run by garbage.test.ts, and by hand as there.
//   node FLAGS garbage-reader.mjs FAKE_VIDEO_MODULE function|loop|pair
import { createRequire } from "node:module";
import { getHeapStatistics } from "node:v8";
import { open, pair } from "v4l2-camera";

const WARM_UP = 2000;
const FRAMES = Number(process.env.FRAMES ?? 2000);
const RATE_HZ = 1000;

const [, , module, how] = process.argv;
const fake = createRequire(import.meta.url)(module).create();
const formats = [{ fourcc: "GREY", width: 64, height: 48, ratesHz: [RATE_HZ] }];
const paths = how === "pair" ? ["/l", "/r"] : ["/f"];
const cameras = [];
for (const path of paths) {
  fake.add({ path, card: "c", bus: path, driver: "d", formats, controls: [] });
  cameras.push(await open(path, {}, { system: fake.system, folders: { sysfs: "/nowhere" } }));
}
const used = () => getHeapStatistics().used_heap_size;

let count = 0;
let begin;
let finish;
const over = new Promise((resolve) => {
  finish = resolve;
});
function step() {
  count++;
  if (count === WARM_UP) {
    globalThis.gc();
    begin = used();
  }
  if (count !== WARM_UP + FRAMES) return;
  const end = used();
  globalThis.gc();
  finish({ bytesPerFrame: (end - begin) / FRAMES, bytesKept: used() - begin });
}
if (how === "function") {
  cameras[0].start((frame) => {
    frame.release();
    step();
  });
} else {
  (async () => {
    for await (const _ of how === "pair" ? pair(...cameras) : cameras[0]) step();
  })();
}
for (const path of paths) {
  while (!fake.state(path).streaming) await new Promise((resolve) => setTimeout(resolve, 1));
  fake.run(path, RATE_HZ, 20 * (WARM_UP + FRAMES));
}
console.log(JSON.stringify(await over));
process.exit(0);
