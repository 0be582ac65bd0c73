// SPDX-License-Identifier: Apache-2.0
// Measures the built-in scene at 30 pairs a second with every output on and a reader at each one, in turn with the defaults.
//   node bench/run/outputs.mjs [--seconds 20] [--rounds 3]
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import foxgloveProtocol from "@foxglove/ws-protocol";
import { WebSocket } from "ws";
import { connectConsumer } from "../../dist/clients/javascript/src/index.js";
import { startTrialBroker } from "../../dist/edge/broker/trial-broker.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { freePort } from "../../test/soak/broker.mjs";
import { Page, scraper } from "../../test/soak/other-consumers.mjs";
import { soakSettings } from "../../test/soak/settings.mjs";
import { PROGRAM } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, root, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    seconds: { type: "string", default: "20" },
    rounds: { type: "string", default: "3" },
    ...RESULT_OPTIONS,
  },
});
const { FoxgloveClient } = foxgloveProtocol;
const RATE = 30;
const folder = mkdtempSync(join(tmpdir(), "depthwatt-bench-outputs-"));
const socketPath = join(folder, "frames.sock");
const sharedReader = join(folder, "reader");
execFileSync("cc", ["-O2", "-Iclients/cpp", "bench/run/shared_latency.c", "-o", sharedReader], { cwd: root });

/** Returns the CPU time of a process so far; undefined after its end. */
function cpuSeconds(pid) {
  try {
    const [user, system] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13);
    return (Number(user) + Number(system)) / 100;
  } catch {
    return undefined;
  }
}

async function start(settings) {
  const http = await freePort();
  const broker = await startTrialBroker({ onFailed: console.error });
  const set = [
    `http.port=${http}`,
    `outputs.mqtt.broker=${broker.url}`,
    `source.synthetic.rateHz=${RATE}`,
    ...settings,
  ];
  const words = ["run", "--json", "--frames", String(RATE * values.seconds)];
  const run = spawn(process.execPath, [PROGRAM, ...words, ...set.flatMap((one) => ["--set", one])]);
  let printed = "";
  run.stdout.on("data", (chunk) => {
    printed += chunk;
  });
  run.stderr.resume();
  let cpu = 0;
  const timer = setInterval(() => {
    cpu = cpuSeconds(run.pid) ?? cpu;
  }, 100);
  const ended = new Promise((resolve) => run.once("exit", resolve));
  const consumer = connectConsumer(broker.url);
  await new Promise((resolve) => consumer.on("frame", resolve));
  await consumer.close();
  return {
    broker: broker.url,
    page: `http://127.0.0.1:${http}`,
    figures: async () => {
      await ended;
      clearInterval(timer);
      await broker.close();
      const figures = JSON.parse(printed.trim().split("\n").at(-1));
      return { ...figures, cpuMsPerFrame: Math.round((1e4 * cpu) / figures.frames) / 10 };
    },
  };
}

/** Reads from every output. Returns a function that stops reading and returns the messages of each reader. */
async function readAll({ broker, page }, device) {
  const received = { mqtt: 0, page: 0, foxglove: 0, videoBytes: 0, sharedMemory: 0, prometheus: 0 };
  const consumer = connectConsumer(broker);
  consumer.on("frame", () => received.mqtt++);
  const live = new Page(page, device, true);
  await live.open();
  const socket = new WebSocket(`${page.replace("http", "ws")}/foxglove`, [
    FoxgloveClient.SUPPORTED_SUBPROTOCOL,
  ]);
  const foxglove = new FoxgloveClient({ ws: socket });
  foxglove.on("advertise", (channels) => {
    for (const { id } of channels) foxglove.subscribe(id);
  });
  foxglove.on("message", () => received.foxglove++);
  const stop = new AbortController();
  for (const name of ["left", "depth"])
    void fetch(`${page}/video/${name}.mjpeg`, { signal: stop.signal })
      .then(async ({ body }) => {
        for await (const chunk of body) received.videoBytes += chunk.length;
      })
      .catch(() => {});
  const shared = spawn(sharedReader, [socketPath], { stdio: ["ignore", "pipe", "ignore"] });
  shared.stdout.on("data", (chunk) => {
    received.sharedMemory += String(chunk).split("\n").length - 1;
  });
  const scrapes = scraper(page);
  return async () => {
    stop.abort();
    scrapes.end();
    shared.kill();
    live.close();
    foxglove.close();
    await consumer.close();
    return { ...received, page: live.sets, prometheus: scrapes.reported.scrapes };
  };
}

const device = "bench";
const pictures = [
  "outputs.video.enabled=true",
  `outputs.sharedMemory.path=${socketPath}`,
  "outputs.command.command=cat",
  "outputs.command.picture=colours",
];
const everything = soakSettings({ port: 0, folder, device, source: ["source.kind=synthetic"] }).filter(
  (setting) => !setting.startsWith("outputs.mqtt.broker"),
);
const four = [`device=${device}`, "outputs.foxglove.enabled=true", ...pictures];
const CASES = [
  { outputs: "default", settings: [`device=${device}`], isRead: false },
  { outputs: "with shared memory, Foxglove, video and command", settings: four, isRead: false },
  { outputs: "the same, each with a reader", settings: four, isRead: true },
  {
    outputs: "every output and stream, each with a reader",
    settings: [...everything, ...pictures],
    isRead: true,
  },
];
const rows = [];
for (let round = 1; round <= Number(values.rounds); round++)
  for (const { outputs, settings, isRead } of CASES) {
    const run = await start(settings);
    const stopReading = isRead ? await readAll(run, device) : undefined;
    const { fps, frames, drops, cpuMsPerFrame, latencyMs, outputs: sent } = await run.figures();
    const received = await stopReading?.();
    const sentByOutput = Object.fromEntries(
      Object.entries(sent).flatMap(([name, { sent: count }]) => (count === undefined ? [] : [[name, count]])),
    );
    const row = { outputs, round, fps, frames, drops, cpuMsPerFrame, latencyMs, sentByOutput, received };
    rows.push({ kind: "measured", ...row });
    console.log(JSON.stringify(rows.at(-1)));
  }
rmSync(folder, { recursive: true });
const what = `640x480 of the built-in scene at ${RATE} pairs a second for ${values.seconds} seconds; program and readers share the machine`;
writeResult("outputs", values, { what, rows });
process.exit(0);
