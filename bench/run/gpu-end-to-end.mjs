// SPDX-License-Identifier: Apache-2.0
// Runs `depthwatt run` end to end with a consumer behind the embedded broker, for a machine with a GPU; prints a line
// of JSON for each run.
//   node bench/run/gpu-end-to-end.mjs [--backend cuda] [--frames 600] [--rates max,200] [--set key=value]...
// The source is a recording of the synthetic scene that is kept in memory, so that drawing it is not measured. A run
// continues until the consumer has its frames: frames that the consumer missed meanwhile are its gaps.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { PROGRAM } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    backend: { type: "string", default: "cuda" },
    frames: { type: "string", default: "600" },
    rates: { type: "string", default: "max" },
    set: { type: "string", multiple: true, default: [] },
    ...RESULT_OPTIONS,
  },
});

function start(words) {
  const child = spawn(process.execPath, [PROGRAM, ...words], { stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (text) => (stdout += text));
  child.stderr.on("data", (text) => (stderr += text));
  const ended = new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
  return { child, ended, stderr: () => stderr };
}

const lastJson = ({ code, stdout, stderr }, what) => {
  if (code === 0) return JSON.parse(stdout.trim().split("\n").at(-1));
  process.stderr.write(`${what} ended with ${code}: ${stderr}\n`);
  process.exit(1);
};

const folder = mkdtempSync(join(tmpdir(), "depthwatt-scene-"));
const made = await start(["scene", "--frames", "8", "--raw", "--truth", "none", "--out", folder]).ended;
if (made.code !== 0) {
  process.stderr.write(made.stderr);
  process.exit(1);
}
const recording = [`--left=${join(folder, "left")}`, `--right=${join(folder, "right")}`];
recording.push(`--calibration=${join(folder, "calibration.json")}`, "--source=replay");

const rows = [];
for (const rate of values.rates.split(",")) {
  const set = ["source.replay.loop=true", "match.numDisparities=128", ...values.set];
  const words = [
    "run",
    ...recording,
    "--backend",
    values.backend,
    "--rate",
    rate,
    "--broker",
    "embedded",
    "--json",
  ];
  const run = start([...words, ...set.flatMap((item) => ["--set", item])]);
  // The consumer tries again until the broker is there.
  const consumer = start([
    "consume",
    "mqtt://127.0.0.1:1883",
    "--frames",
    values.frames,
    "--timeout",
    "30",
    "--json",
  ]);
  const consumed = lastJson(await consumer.ended, "consume");
  run.child.kill("SIGINT");
  const figures = lastJson(await run.ended, "run");
  const kernelsMs = Object.entries(figures.stages).reduce(
    (sum, [name, { p50Ms }]) => (name === "encode" ? sum : sum + p50Ms),
    0,
  );
  const encodeMs = figures.stages.encode?.p50Ms ?? 0;
  const overheadMs = figures.latencyMs.p50 - kernelsMs - encodeMs;
  rows.push({ rate, set, kernelsMs, encodeMs, overheadMs, consumed, run: figures });
  console.log(JSON.stringify(rows.at(-1)));
}
rmSync(folder, { recursive: true, force: true });
writeResult("end-to-end", values, { what: "depthwatt run and a consumer behind the embedded broker", rows });
