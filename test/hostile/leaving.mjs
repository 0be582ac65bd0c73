// SPDX-License-Identifier: Apache-2.0
// Ends or removes objects while native threads work: one case a process, because the test looks for an abort. Argument:
// the case's name. Needs --expose-gc.
import { isMainThread, Worker, workerData } from "node:worker_threads";

const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);
const { createEngine, openEngine } = await load("cuda/index.js");
const { loadConfig } = await load("edge/config/index.js");
const { engineOptionsFrom } = await load("edge/pipeline/engine-options.js");
const { uncalibrated } = await load("edge/pipeline/geometry.js");
const { greyPairLayout, PairAligner, SyntheticSource } = await load("camera/index.js");
const { loadNative } = await load("edge/contracts/native.js");
const native = loadNative();

function engineOptions(width, height) {
  const set = ["board=none", "match.numDisparities=32", "engine.backend=cpu", "engine.threads=2"];
  const { config } = loadConfig({ environment: {}, set });
  return engineOptionsFrom(
    config,
    { description: greyPairLayout(width, height) },
    uncalibrated(width, height),
    {},
  );
}

const image = (width, height, factor) => new Uint8Array(width * height).map((_, i) => (i * factor) >> 3);

/** Frames in each slot of an engine; `onDone` is called for each. */
function submitAll(engine, width, height, onDone = () => {}) {
  for (const slot of engine.slots.keys())
    engine.submit(slot, image(width, height, 5), image(width, height, 7), onDone);
}

/** One of everything that has a thread. */
function everything() {
  const engine = createEngine(engineOptions(320, 240));
  submitAll(engine, 320, 240);
  const opening = openEngine(engineOptions(320, 240));
  const source = new SyntheticSource(native, { width: 64, height: 48, rateHz: "max" });
  source.start({ onPair: (pair) => pair.release(), onEnd() {}, onError() {}, onDegraded() {} });
  const sources = [{ file: "/proc/uptime" }];
  const sampler = native.power.createSampler({ sources, periodNs: 1e6, capacityRows: 16 });
  return { engine, opening, source, sampler };
}

const CASES = {
  /** Images that JavaScript gives away as soon as they are submitted. */
  async "images given away"() {
    native.giveMemoryBack();
    const [width, height] = [1280, 960];
    const engine = createEngine(engineOptions(width, height));
    for (let round = 0; round < 3; round++) {
      const frames = [...engine.slots.keys()].map((slot) => {
        const [left, right] = [image(width, height, 5), image(width, height, 5)];
        const done = new Promise((resolve) => engine.submit(slot, left, right, resolve));
        for (const { buffer } of [left, right])
          try {
            structuredClone(buffer, { transfer: [buffer] });
          } catch (error) {
            if (error.name !== "DataCloneError") throw error;
          }
        if (left.length !== width * height) throw new Error("the image is gone");
        return done;
      });
      for (let i = 0; i < 4; i++) {
        globalThis.gc();
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      for (const error of await Promise.all(frames)) if (error !== null) throw error;
    }
    engine.close();
  },
  async "process.exit while frames are computed"() {
    everything();
    process.exit(0);
  },
  async "process.exit in a callback"() {
    everything();
    submitAll(createEngine(engineOptions(64, 48)), 64, 48, () => process.exit(0));
  },
  async "calls while the process exits"() {
    const { engine } = everything();
    process.on("exit", () => {
      submitAll(createEngine(engineOptions(64, 48)), 64, 48);
      engine.close();
      openEngine(engineOptions(64, 48));
      new SyntheticSource(native, { width: 64, height: 48, rateHz: "max" });
      native.clocks();
    });
    process.exit(0);
  },
  async "an uncaught error"() {
    const { engine } = everything();
    process.on("uncaughtException", () => process.exit(0));
    engine.close();
    submitAll(createEngine(engineOptions(64, 48)), 64, 48, () => {
      throw new Error("of the caller");
    });
  },
  async "nothing is closed"() {
    const { source, sampler, opening } = everything();
    await opening;
    // These two continue automatically; the rest lets the process end.
    await source.stop();
    sampler.stop();
  },
  /** Each has its own engines, scenes and samplers, all at once, and ends automatically. */
  async "four threads at once"() {
    const workers = Array.from(
      { length: 4 },
      () => new Worker(new URL(import.meta.url), { workerData: "work" }),
    );
    const codes = await Promise.all(
      workers.map(
        (worker) =>
          new Promise((resolve, reject) => {
            worker.once("error", reject);
            worker.once("exit", resolve);
          }),
      ),
    );
    if (codes.some((code) => code !== 0)) throw new Error(`workers ended with ${codes}`);
  },
  async work() {
    for (let round = 0; round < 3; round++) {
      const { engine, opening, source, sampler } = everything();
      const aligner = new PairAligner(alignerOptions(96, 64));
      aligner.begin(image(96, 64, 5), image(96, 64, 7));
      await new Promise((resolve) => setTimeout(resolve, 20));
      (await opening).close();
      sampler.drain(new Float64Array(64));
      sampler.stop();
      await source.stop();
      if (round % 2 === 0) aligner.close();
      if (round % 2 === 1) engine.close();
    }
  },
};

function alignerOptions(width, height) {
  const layout = { inputWidth: width, inputHeight: height, width, height };
  const formats = {
    leftFormat: "GREY",
    rightFormat: "GREY",
    leftStrideBytes: width,
    rightStrideBytes: width,
  };
  const view = { focalPixels: width, cx: width / 2, cy: height / 2 };
  return { ...layout, ...formats, ...view, maxWidth: 0, rows: 4, minDisparity: 0, maxDisparity: 32 };
}

await CASES[isMainThread ? process.argv[2] : workerData]();
