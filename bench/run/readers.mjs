// SPDX-License-Identifier: Apache-2.0
// How many frames a second readers unpack, from the message to metres, on one core: 640x480 of the built-in scene as `rvl`, by
// Python with its C helper, Python with numpy alone, and JavaScript: `node bench/run/readers.mjs` (needs
// python3-numpy and python3-paho-mqtt). Readers take turns, so that what else runs meets them all alike.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  connectConsumer,
  decodeBody,
  parseFrame,
  toValues,
} from "../../dist/clients/javascript/src/index.js";
import { quantile } from "../../dist/core/statistics.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { PROGRAM } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, root, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: RESULT_OPTIONS });
const ROUNDS = 7;
const SECONDS = 2;
const folder = mkdtempSync(join(tmpdir(), "depthwatt-bench-readers-"));

async function message() {
  const run = spawn(process.execPath, [PROGRAM, "run", "--set", "outputs.viewer.enabled=false"]);
  try {
    let said = "";
    const url = await new Promise((resolve, reject) => {
      run.once("exit", () => reject(new Error(said)));
      run.stderr.on("data", (chunk) => {
        said += chunk;
        const [found] = /mqtt:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
        if (found) resolve(found);
      });
      run.stdout.on("data", (chunk) => run.stderr.emit("data", chunk));
    });
    const consumer = connectConsumer(url);
    const frame = await new Promise((resolve) => consumer.on("frame", resolve));
    const { body, messageBytes } = frame;
    const bytes = new Uint8Array(
      body.buffer,
      body.byteOffset - (messageBytes - body.length),
      messageBytes,
    ).slice();
    await consumer.close();
    return bytes;
  } finally {
    run.kill("SIGTERM");
  }
}

const bytes = await message();
const { header } = parseFrame(bytes);
const length = Buffer.alloc(4);
length.writeUInt32LE(bytes.length);
const file = join(folder, "frames");
writeFileSync(file, Buffer.concat([length, bytes]));

function python(decoder) {
  const env = {
    ...process.env,
    XDG_CACHE_HOME: folder,
    ...(decoder === "numpy" && { DEPTHWATT_RVL: "numpy" }),
  };
  const words = [
    join(root, "test/doubles/readers/read_frames.py"),
    join(root, "clients/python"),
    file,
    String(SECONDS),
  ];
  const [by, rate] = execFileSync("/usr/bin/python3", words, { env, encoding: "utf8" }).trim().split(" ");
  if (by !== decoder) throw new Error(`expected RVL by ${decoder}, got ${by}`);
  return Number(rate);
}

function javascript() {
  const cpuSeconds = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  const began = cpuSeconds();
  let count = 0;
  while (cpuSeconds() - began < SECONDS) {
    const frame = parseFrame(bytes);
    toValues(frame.header, decodeBody(frame.header, frame.body));
    count++;
  }
  return count / (cpuSeconds() - began);
}

const readers = {
  "Python, RVL by C": () => python("c"),
  "Python, RVL by numpy": () => python("numpy"),
  JavaScript: javascript,
};
const rates = Object.fromEntries(Object.keys(readers).map((name) => [name, []]));
try {
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, measure] of Object.entries(readers)) rates[name].push(measure());
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const what = `from message to metres, ${header.width}x${header.height}, ${header.encoding}, ${bytes.length} bytes, frames a second of CPU time`;
const rows = Object.entries(rates).map(([reader, all]) => {
  const at = (share) => Math.round(10 * quantile(all, share)) / 10;
  return {
    kind: "measured",
    what,
    reader,
    rounds: ROUNDS,
    median: at(0.5),
    min: at(0),
    max: at(1),
  };
});
console.table(rows.map(({ kind: _, what: __, ...row }) => row));
writeResult("readers", values, { what, rows });
process.exit(0);
