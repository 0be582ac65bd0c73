// SPDX-License-Identifier: Apache-2.0
// The run that a soak watches, in its own process: opens depthwatt with the given settings, reports its memory, handles and
// counters once a second, applies changes of settings, and at its end reports what became of every pair. Arguments: key=value;
// needs --expose-gc.
import { readdirSync, readFileSync } from "node:fs";
import { loadConfig } from "../../dist/edge/config/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { openRuntime } from "../../dist/edge/run/main.js";

const SAMPLE_MS = 1000;
/** Garbage can only be distinguished from used memory after a collection. */
const COLLECT_EVERY = 5;

const { config } = loadConfig({ set: process.argv.slice(2), environment: {} });
// As the program does.
loadNative().giveMemoryBack();
const notices = {};
const states = [];
const runtime = await openRuntime(config, undefined, {
  onNotice: (text) => {
    notices[text] = (notices[text] ?? 0) + 1;
  },
  onState: (state, reason) => states.push({ atMs: Date.now(), state, reason }),
});
const { source, pipeline, outputs } = runtime.parts;
// A page that gets its device before the first frame sees every frame.
const { url: page } = outputs.figures("run").outputs.viewer;
process.send({ kind: "opened", page, pid: process.pid });

const residentBytes = () => {
  const status = readFileSync("/proc/self/status", "utf8");
  const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)[1]);
  return { residentKb: field("VmRSS"), anonymousKb: field("RssAnon"), threads: field("Threads") };
};

let samples = 0;
function sample() {
  const collected = samples++ % COLLECT_EVERY === 0;
  if (collected) globalThis.gc();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  const { residentKb, anonymousKb, threads } = residentBytes();
  const figures = runtime.totals;
  process.send({
    kind: "sample",
    atMs: Date.now(),
    heapBytes: collected ? heapUsed : undefined,
    externalBytes: external,
    arrayBufferBytes: arrayBuffers,
    residentBytes: residentKb * 1024,
    // Without the pages of files: programs and libraries, which the system takes and gives as it likes.
    anonymousBytes: anonymousKb * 1024,
    threads,
    descriptors: readdirSync("/proc/self/fd").length,
    frames: pipeline.frames,
    pairs: source.counters().pairs,
    drops: figures?.drops ?? {},
    latencyMs: pipeline.latency.percentiles("recent"),
  });
}

let timer;
async function start() {
  timer = setInterval(sample, SAMPLE_MS);
  const figures = await runtime.run();
  clearInterval(timer);
  // Closed outputs still report the number of delivered frames.
  process.send({ kind: "ended", captured, counters, figures, notices, states, lent: lentFrames() }, () =>
    process.disconnect(),
  );
}

/** Frames sent by each output, for any number of messages. */
function lentFrames() {
  const { outputs: byOutput } = outputs.totals();
  return Object.fromEntries(Object.entries(byOutput).map(([name, { latency }]) => [name, latency.count]));
}

let captured;
let counters;
process.on("message", async (message) => {
  if (message.kind === "start") await start();
  else if (message.kind === "stop") {
    counters = source.counters();
    captured = counters.pairs;
    runtime.stop();
  } else if (message.kind === "apply") {
    const answer = await runtime.apply(message.change, "soak").then(
      () => ({ ok: true }),
      (error) => ({ ok: false, code: error.code, message: error.message }),
    );
    if (process.connected) process.send({ kind: "applied", id: message.id, ...answer });
  }
});
