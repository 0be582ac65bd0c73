// SPDX-License-Identifier: Apache-2.0
// depthwatt's publisher next to a bare one of mqtt.js and one in C on libmosquitto, with 1, 8, 32 and 128 consumers: `node
// bench/run/load.mjs [--seconds N] [--rounds N] [--hertz N]` (needs mosquitto, libmosquitto-dev). The same
// payload, a depth frame of 640x480 as `rvl`; the publishers take turns, so that what else runs meets them all alike.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectConsumer } from "../../dist/clients/javascript/src/index.js";
import { median } from "../../dist/core/statistics.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { freePort } from "../../test/soak/broker.mjs";
import { sleep } from "../../test/soak/random.mjs";
import { PROGRAM } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, root, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    hertz: { type: "string", default: "30" },
    consumers: { type: "string", default: "1,8,32,128" },
    ...RESULT_OPTIONS,
  },
});
const folder = mkdtempSync(join(tmpdir(), "depthwatt-bench-load-"));
const TOPIC = "depthwatt/load/depth";
const compiled = (name, ...more) => {
  const program = join(folder, name);
  execFileSync("g++", ["-std=c++17", "-O2", join(root, `bench/run/${name}.cc`), "-o", program, ...more]);
  return program;
};

async function startBroker() {
  const port = await freePort();
  const file = join(folder, "mosquitto.conf");
  // A slow consumer holds a bounded number of frames; the broker drops further ones for it.
  const lines = ["allow_anonymous true", `listener ${port} 127.0.0.1`, "log_type error"];
  writeFileSync(file, [...lines, "max_queued_messages 8", ""].join("\n"));
  const child = spawn("/usr/sbin/mosquitto", ["-c", file], { stdio: "ignore" });
  await sleep(1000);
  return { port, child };
}

/** The newest depth frame of a short run, as a consumer gets it. */
async function writePayload(file) {
  const { port, child } = await startBroker();
  const url = `mqtt://127.0.0.1:${port}`;
  const consumer = connectConsumer(url, { streams: ["depth"] });
  await consumer.firstAttempt;
  const frame = new Promise((resolve) => consumer.on("frame", resolve));
  const set = ["board=none", "power.sensor=none", "outputs.viewer.enabled=false"];
  const words = ["run", "--broker", url, "--frames", "20", "--rate", "5"];
  const run = spawn(process.execPath, [PROGRAM, ...words, ...set.flatMap((one) => ["--set", one])]);
  const { body, messageBytes } = await frame;
  writeFileSync(
    file,
    new Uint8Array(body.buffer, body.byteOffset - (messageBytes - body.length), messageBytes),
  );
  await consumer.close();
  run.kill("SIGTERM");
  child.kill("SIGKILL");
}

/** Returns the CPU seconds of a process, and the most memory that it held. */
function usedBy(pid) {
  const ticks = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13);
  const held = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1];
  return { cpuSeconds: (Number(ticks[0]) + Number(ticks[1])) / 100, maxResidentKb: Number(held) };
}

const lines = (child) => {
  let text = "";
  const waiting = [];
  child.stdout.on("data", (chunk) => {
    text += chunk;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      waiting.shift()?.(text.slice(0, end));
      text = text.slice(end + 1);
    }
  });
  return () => new Promise((resolve) => waiting.push(resolve));
};

async function measure(publisher, count, programs, file) {
  const broker = await startBroker();
  const consumers = spawn(programs.consumers, [String(broker.port), TOPIC, String(count)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const next = lines(consumers);
  try {
    const ready = await next();
    if (ready !== "ready") throw new Error(`the consumers said ${ready}`);
    const words = [String(broker.port), TOPIC, file, values.hertz, values.seconds];
    const before = usedBy(broker.child.pid);
    const child =
      publisher === "libmosquitto"
        ? spawn(programs.publisher, words)
        : spawn(process.execPath, [join(root, "bench/run/load-publisher.mjs"), publisher, ...words]);
    child.stderr.pipe(process.stderr);
    const reported = JSON.parse(await lines(child)());
    // Lets frames arrive that are still under way.
    await sleep(1500);
    const asked = next();
    consumers.stdin.write("report\n");
    const seen = JSON.parse(await asked);
    const after = usedBy(broker.child.pid);
    return { reported, seen, broker: { ...after, cpuSeconds: after.cpuSeconds - before.cpuSeconds } };
  } finally {
    consumers.kill("SIGKILL");
    broker.child.kill("SIGKILL");
  }
}

const round = (value, digits = 1) => Math.round(value * 10 ** digits) / 10 ** digits;

try {
  const programs = {
    consumers: compiled("load_consumers"),
    publisher: compiled("load_publisher", "-lmosquitto"),
  };
  const file = join(folder, "payload");
  await writePayload(file);
  const rows = [];
  for (const count of values.consumers.split(",").map(Number)) {
    const found = { depthwatt: [], "mqtt.js": [], libmosquitto: [] };
    for (let turn = 0; turn < Number(values.rounds); turn++)
      for (const [publisher, all] of Object.entries(found))
        all.push(await measure(publisher, count, programs, file));
    for (const [publisher, all] of Object.entries(found)) {
      const of = (pick) => median(all.map(pick));
      rows.push({
        kind: "measured",
        publisher,
        consumers: count,
        rounds: all.length,
        publishedFps: round(of(({ reported }) => reported.published / Number(values.seconds))),
        droppedByPublisher: of(({ reported }) => reported.dropped),
        receivedFpsEach: round(of(({ seen }) => seen.frames / count / Number(values.seconds))),
        receivedFpsSlowest: round(of(({ seen }) => seen.fewest / Number(values.seconds))),
        latencyP50Ms: round(
          of(({ seen }) => seen.p50Ms),
          2,
        ),
        latencyP99Ms: round(
          of(({ seen }) => seen.p99Ms),
          2,
        ),
        publisherCpuMsAFrame: round(
          of(({ reported }) => (1000 * reported.cpuSeconds) / reported.published),
          3,
        ),
        publisherMaxResidentMB: round(of(({ reported }) => reported.maxResidentKb / 1000)),
        brokerCpuSeconds: round(
          of(({ broker }) => broker.cpuSeconds),
          2,
        ),
        brokerMaxResidentMB: round(of(({ broker }) => broker.maxResidentKb / 1000)),
      });
      console.error(JSON.stringify(rows.at(-1)));
    }
  }
  writeResult("load", values, {
    what: `frames of one payload to many consumers: depthwatt's publisher, mqtt.js and libmosquitto in turn, ${values.hertz} frames a second for ${values.seconds} s: bench/run/load.mjs`,
    payloadBytes: statSync(file).size,
    rows,
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
