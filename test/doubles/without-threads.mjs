// SPDX-License-Identifier: Apache-2.0
// Opens an engine and a scene with only a few more threads available, and prints the result. It is a separate process:
// the address space is limited to its current size plus so many thread stacks.
//   node test/doubles/without-threads.mjs STACKS
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { SceneRenderer } from "../../dist/camera/index.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { smallEngine } from "./small-engine.mjs";

const STACK_BYTES = 8 << 20;
const room = Math.floor((Number(process.argv[2]) + 0.5) * STACK_BYTES);
const [width, height] = [64, 48];
const options = smallEngine(width, height, { backend: "cpu", threads: 4, slots: 2 });

const native = loadNative();
const inUse = () => 1024 * Number(/VmSize:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
const holdAt = (limit) => execFileSync("prlimit", ["--pid", String(process.pid), `--as=${limit}:`]);

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

holdAt(inUse() + room);
const held = { engine: await tryOpen(openEngine), scene: await tryOpen(openScene) };
holdAt("unlimited");
const free = { engine: await tryOpen(openEngine), scene: await tryOpen(openScene) };
console.log(JSON.stringify({ held, free }));
