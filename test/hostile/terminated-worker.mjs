// SPDX-License-Identifier: Apache-2.0
// Worker threads that are terminated in the middle of frames, at a random moment of each: the scene and the engine by themselves,
// and `depthwatt run` as a whole. A process of its own, because what it looks for is an abort.
// Words: count of each kind, seed. Prints the counts.
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const dist = new URL("../../dist/", import.meta.url);

/** mulberry32: a failure is repeated by its seed. */
function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Scenes that are made, drawn from and forgotten without end. */
async function drawScenes() {
  const { loadAddon } = await import(new URL("core/index.js", dist).href);
  const { SyntheticSource } = await import(new URL("camera/index.js", dist).href);
  const addon = loadAddon();
  parentPort.postMessage("running");
  for (;;) {
    const source = new SyntheticSource(addon, { width: 64, height: 48, rateHz: "max", frames: 5 });
    await new Promise((resolve) => {
      source.start({
        onPair: (pair) => pair.release(),
        onEnd: resolve,
        onError: resolve,
        onDegraded: () => {},
      });
    });
    // Every other one is left to the environment's end.
    if (Math.random() < 0.5) await source.stop();
  }
}

function start(kind) {
  if (kind === "scene") {
    const worker = new Worker(new URL(import.meta.url), { workerData: kind });
    return { worker, running: new Promise((resolve) => worker.once("message", resolve)) };
  }
  const size = ["--set", "source.width=96", "--set", "source.height=64", "--set", "match.numDisparities=16"];
  const argv = ["run", "--broker", "none", "--rate", "max", ...size];
  const worker = new Worker(new URL("edge/cli/main.js", dist), { argv, stdout: true, stderr: true });
  return { worker, running: new Promise((resolve) => worker.stdout.once("data", resolve)) };
}

async function terminateSome(kind, count, random) {
  for (let i = 0; i < count; i++) {
    const { worker, running } = start(kind);
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    worker.on("error", (error) => {
      throw error;
    });
    await Promise.race([running, ended]);
    await new Promise((resolve) => setTimeout(resolve, random() * 120));
    await worker.terminate();
  }
}

if (!isMainThread && workerData === "scene") await drawScenes();
else {
  const [scenes, runs, seed] = process.argv.slice(2).map(Number);
  const random = seeded(seed);
  await terminateSome("scene", scenes, random);
  await terminateSome("run", runs, random);
  console.log(JSON.stringify({ scenes, runs, seed }));
}
