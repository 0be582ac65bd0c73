// SPDX-License-Identifier: Apache-2.0
// Measures raw depth from a publisher to one reader on this machine: over shared memory (readers in C and Node) and over MQTT on
// loopback (the embedded broker, a reader in Node). A frame's time is when the publisher is called.
//   node bench/run/shared-memory.mjs [--frames 200] [--rate 30]
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FRAME_HEADROOM_BYTES } from "../../dist/core/frame/frame-format.js";
import { quantile } from "../../dist/core/statistics.js";
import { startTrialBroker } from "../../dist/edge/broker/trial-broker.js";
import { createPublisher } from "../../dist/edge/outputs/mqtt/publisher.js";
import { openSharedMemoryOutput } from "../../dist/edge/outputs/sharedMemory/shared-memory-output.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, root, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    frames: { type: "string", default: "200" },
    rate: { type: "string", default: "30" },
    ...RESULT_OPTIONS,
  },
});
const [frames, periodMs] = [Number(values.frames), 1000 / Number(values.rate)];
const folder = mkdtempSync(join(tmpdir(), "depthwatt-shared-"));
const path = join(folder, "frames.sock");

const NODE_READER = `import { readSharedFrames } from "${root}/dist/edge/library/shared-frames.js";
for await (const frame of readSharedFrames("${path}", "depth")) {
  const now = process.hrtime.bigint();
  console.log(Number(now - frame.publishedNs) / 1e3, Number(now - frame.header.leftTimestampNs) / 1e3);
}`;
const subscriberTo = (url) => `import mqtt from "mqtt";
const client = mqtt.connect("${url}");
client.subscribe("bench/device/depth");
client.on("message", (_topic, payload) => {
  const us = Number(process.hrtime.bigint() - payload.readBigUInt64LE(32)) / 1e3;
  console.log(us, us);
});`;

/** Starts a reader, sends it frames, and returns its lines and the CPU time of both processes. */
async function measure(program, words, isReady, publish) {
  const reader = spawn(program, words, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  reader.stdout.on("data", (bytes) => {
    text += bytes;
  });
  while (!isReady()) await sleep(20);
  await sleep(500);
  const before = { own: process.cpuUsage(), reader: cpuSeconds(reader.pid) };
  for (let i = 0; i < frames; i++) {
    publish();
    await sleep(periodMs);
  }
  const own = process.cpuUsage(before.own);
  const ms = (own.user + own.system) / 1000 + 1000 * (cpuSeconds(reader.pid) - before.reader);
  reader.kill("SIGKILL");
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.split(" ").map(Number));
  const median = (column) =>
    Math.round(
      10 *
        quantile(
          lines.slice(5).map((line) => line[column]),
          0.5,
        ),
    ) / 10;
  return {
    received: lines.length,
    readyToReaderUs: median(0),
    callToReaderUs: median(1),
    cpuMsPerFrame: Math.round((1000 * ms) / frames) / 1000,
  };
}

/** CPU time of a process so far, in steps of 10 ms. */
function cpuSeconds(pid) {
  const fields = execFileSync("cat", [`/proc/${pid}/stat`], { encoding: "utf8" })
    .split(") ")[1]
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const described = (width, height) => ({
  clock: "monotonic",
  width,
  height,
  leftSequence: 1,
  rightSequence: 1,
  leftTimestampNs: process.hrtime.bigint(),
  rightTimestampNs: 0n,
});

async function sharedMemory(program, words, width, height) {
  const settings = { path, slots: 4, points: false, leftColours: false, rateHz: "max" };
  const output = await openSharedMemoryOutput({ settings, hasDepth: true, notice: console.error });
  const slot = { depthMillimetres: new Uint16Array(width * height).fill(1000) };
  let number = 0;
  const publish = () => {
    const frame = { ...described(width, height), slot, encodings: {} };
    output.frame({ frame, number: ++number, sent() {}, release() {} });
  };
  const measured = await measure(program, words, () => output.streams.length > 0, publish);
  await output.close();
  return measured;
}

async function mqtt(width, height) {
  const broker = await startTrialBroker({ onFailed: console.error });
  const publisher = createPublisher({
    broker: broker.url,
    base: "bench",
    device: "device",
    maxPendingBytes: 1 << 26,
  });
  await publisher.firstAttempt;
  const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + 2 * width * height);
  const publish = () => {
    const frame = {
      ...described(width, height),
      stream: "depth",
      encoding: "raw",
      element: "u16",
      realtimeOffsetNs: 0n,
    };
    publisher.publish(buffer, FRAME_HEADROOM_BYTES, 2 * width * height, frame, () => {});
  };
  const words = ["--input-type=module", "-e", subscriberTo(broker.url)];
  const began = performance.now();
  const measured = await measure(process.execPath, words, () => performance.now() - began > 1500, publish);
  await publisher.close();
  await broker.close();
  return measured;
}

const program = join(folder, "reader");
execFileSync("cc", ["-O2", "-Iclients/cpp", "bench/run/shared_latency.c", "-o", program], { cwd: root });
const rows = [];
for (const [width, height] of [
  [640, 480],
  [1920, 1080],
]) {
  const add = (way, reader, measured) => {
    rows.push({ kind: "measured", width, height, way, reader, ...measured });
    console.log(JSON.stringify(rows.at(-1)));
  };
  const nodeWords = ["--input-type=module", "-e", NODE_READER];
  add("sharedMemory", "C", await sharedMemory(program, [path], width, height));
  add("sharedMemory", "Node", await sharedMemory(process.execPath, nodeWords, width, height));
  add("mqtt", "Node", await mqtt(width, height));
}
rmSync(folder, { recursive: true });
const what = `shared memory and MQTT: ${frames} frames of raw depth at ${values.rate} Hz, medians; CPU time of both processes`;
writeResult("shared-memory", values, { what, rows });
