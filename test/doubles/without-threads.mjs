// SPDX-License-Identifier: Apache-2.0
// Opens an engine and a scene where only THREADS more threads start, then where all do, and prints both results.
//   LD_PRELOAD=fewer_threads.so node test/doubles/without-threads.mjs THREADS
import { readFile } from "node:fs/promises";
import { SceneRenderer } from "../../dist/camera/index.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { smallEngine } from "./small-engine.mjs";

const [width, height] = [64, 48];
const options = smallEngine(width, height, { backend: "cpu", threads: 4, slots: 2 });

const native = loadNative();
// Node aborts where its own pool cannot start: it starts with the first file.
await readFile(new URL(import.meta.url));

/** Returns the code of the error, or "ok". */
async function tryOpen(open) {
  try {
    const opened = await open();
    opened.close();
    return "ok";
  } catch (error) {
    return `${error.code}: ${error.message}`;
  }
}
const openEngine = () => createEngine(options);
async function openScene() {
  const scene = new SceneRenderer(native, { width, height, view: "rectified" });
  await scene.frame(0);
  return scene;
}

process.env.THREADS_LEFT = process.argv[2];
const held = { engine: await tryOpen(openEngine), scene: await tryOpen(openScene) };
delete process.env.THREADS_LEFT;
const free = { engine: await tryOpen(openEngine), scene: await tryOpen(openScene) };
console.log(JSON.stringify({ held, free }));
