// SPDX-License-Identifier: Apache-2.0
// Worker threads that are terminated in the middle of frames, at a random moment of each: scenes and engines automatically, and
// `depthwatt run` as a whole. Its own process, because what it looks for is an abort.
// Words: count, seed. Prints how many of each kind.
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

const load = async (path) => import(new URL(path, dist).href);
const { loadAddon } = await load("core/index.js");

/** Posted once, when the first frame has come: the worker is busy. */
let reported = false;
function atWork() {
  if (!reported) parentPort.postMessage("at work");
  reported = true;
}

/** As fast as it can; its end is not waited for. */
async function drawn(size) {
  const { SyntheticSource } = await load("camera/index.js");
  const source = new SyntheticSource(loadAddon(), { width: 64, height: 48, rateHz: "max", ...size });
  const over = new Promise((resolve) => {
    source.start({
      onPair: (pair) => {
        atWork();
        pair.release();
      },
      onEnd: resolve,
      onError: resolve,
      onDegraded: () => {},
    });
  });
  return { source, over };
}

/** The endless work of a worker. */
const JOBS = {
  /** Scenes that are made, drawn from and forgotten. */
  async scene() {
    for (;;) {
      const { source, over } = await drawn({ frames: 5 });
      await over;
      // Every other one is left to the environment's end.
      if (Math.random() < 0.5) await source.stop();
    }
  },
  /** Several at once: the environment's end takes them apart one after the other, while the others still draw. */
  async scenes() {
    const kept = [];
    for (let i = 0; i < 4; i++) kept.push(await drawn({}));
    await Promise.all(kept.map(({ over }) => over));
  },
  /** Engines that open on threads of the pool, compute, and are closed or left; a sampler next to them. */
  async engine() {
    const { createEngine, openEngine } = await load("cuda/index.js");
    const options = workerData.options;
    const image = new Uint8Array(options.width * options.height).map((_, i) => (i * i) >> 3);
    const sources = [{ file: "/proc/uptime" }];
    const sampler = loadAddon().power.createSampler({ sources, periodNs: 1e6, capacityRows: 16 });
    for (let i = 0; ; i++) {
      const engine = i % 2 === 0 ? createEngine(options) : await openEngine(options);
      const opening = openEngine(options);
      await Promise.all(
        engine.slots.map(
          (_, slot) => new Promise((resolve) => engine.submit(slot, image, image, () => resolve())),
        ),
      );
      atWork();
      sampler.drain(new Float64Array(64));
      if (Math.random() < 0.5) engine.close();
      if (Math.random() < 0.5) (await opening).close();
      await new Promise((resolve) => setImmediate(resolve));
    }
  },
};

/** A small pair of pictures; the settings of the matcher are its defaults. */
async function engineOptions() {
  const { loadConfig } = await load("edge/config/index.js");
  const { engineOptionsFrom } = await load("edge/pipeline/engine-options.js");
  const { uncalibrated } = await load("edge/pipeline/geometry.js");
  const { greyPairLayout } = await load("camera/index.js");
  const set = ["board=none", "match.numDisparities=16", "engine.backend=cpu", "engine.threads=2"];
  const description = greyPairLayout(96, 64);
  return engineOptionsFrom(
    loadConfig({ environment: {}, set }).config,
    { description },
    uncalibrated(96, 64),
    {},
  );
}

function start(kind, options) {
  if (kind !== "run") {
    const worker = new Worker(new URL(import.meta.url), { workerData: { kind, options } });
    return { worker, running: new Promise((resolve) => worker.once("message", resolve)) };
  }
  const set = ["source.synthetic.width=96", "source.synthetic.height=64", "match.numDisparities=16"];
  const argv = ["run", "--broker", "none", "--rate", "max", ...set.flatMap((one) => ["--set", one])];
  const worker = new Worker(new URL("edge/cli/main.js", dist), { argv, stdout: true, stderr: true });
  return { worker, running: new Promise((resolve) => worker.stdout.once("data", resolve)) };
}

if (isMainThread) {
  const [count, seed] = process.argv.slice(2).map(Number);
  const random = seeded(seed);
  const options = await engineOptions();
  const terminated = {};
  for (const [kind, share] of Object.entries({ scene: 0.25, scenes: 0.25, engine: 0.35, run: 0.15 })) {
    for (let left = Math.ceil(share * count); left > 0; left--) {
      const { worker, running } = start(kind, options);
      worker.once("exit", () => {
        throw new Error(`${kind}: expected to be terminated, ended before`);
      });
      worker.on("error", (error) => {
        throw error;
      });
      await running;
      await new Promise((resolve) => setTimeout(resolve, random() * 120));
      worker.removeAllListeners("exit");
      await worker.terminate();
      terminated[kind] = (terminated[kind] ?? 0) + 1;
    }
  }
  console.log(JSON.stringify({ terminated, seed }));
} else {
  await JOBS[workerData.kind]();
}
