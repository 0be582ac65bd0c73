// SPDX-License-Identifier: Apache-2.0
// What recording costs the pipeline, and how busy the stages of a batch are: `node bench/run/recorder.mjs [--out FILE] [--rounds
// N]` (needs a build). The same run without a recording, with one, with one of the captured images too, and with one whose
// disk takes nothing, in turn, so that what else runs meets them all alike: 640x480 of the built-in scene at 10 Hz.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { scriptArguments } from "../../scripts/arguments.mjs";

const { values } = scriptArguments({
  options: { out: { type: "string" }, rounds: { type: "string", default: "5" } },
});
const FRAMES = 60;
const folder = mkdtempSync(join(tmpdir(), "depthwatt-bench-recorder-"));

function program(...words) {
  const ran = spawnSync(process.execPath, ["dist/edge/cli/main.js", ...words], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  const last = ran.stdout.trim().split("\n").at(-1) ?? "";
  // A run that could record nothing says so by its exit code, and what it did all the same.
  if (!last.startsWith("{")) throw new Error(`${words.join(" ")}: ${ran.stderr}`);
  return JSON.parse(last);
}

const set = (...settings) => settings.flatMap((one) => ["--set", one]);
const RUN = ["run", "--broker", "none", "--rate", "10", "--frames", String(FRAMES), "--json"];
const QUIET = set("outputs.viewer.enabled=false", "board=none", "power.sensor=none");
const recording = (...more) => set("outputs.mcap.file={file}", ...more);
const CASES = {
  "no recording": [],
  "depth, left and cameras": recording(),
  "and both captured images": recording("outputs.mcap.inputs=true"),
  "a disk that takes nothing: every frame dropped": recording("outputs.mcap.keepFreePercent=99"),
};
const figures = Object.fromEntries(Object.keys(CASES).map((name) => [name, []]));
let files = 0;
try {
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [name, words] of Object.entries(CASES)) {
      const file = join(folder, `${files++}.mcap`);
      figures[name].push(program(...RUN, ...QUIET, ...words.map((word) => word.replace("{file}", file))));
      rmSync(file, { force: true });
    }
  const median = (all, pick) => {
    const sorted = all.map(pick).sort((a, b) => a - b);
    return Math.round(1000 * sorted[sorted.length >> 1]) / 1000;
  };
  const rows = Object.entries(figures).map(([name, all]) => ({
    kind: "measured",
    what: "a run of 640x480 at 10 Hz, 60 frames",
    recording: name,
    rounds: all.length,
    frames: median(all, ({ frames }) => frames),
    fps: median(all, ({ fps }) => fps),
    matchP50Ms: median(all, ({ stages }) => stages.match.p50Ms),
    latencyP50Ms: median(all, ({ latencyMs }) => latencyMs.p50 ?? 0),
    engineBusyDrops: median(all, ({ drops }) => drops.engineBusy ?? 0),
    recorded: median(all, ({ outputs }) => outputs.mcap?.sent ?? 0),
    recorderDrops: median(all, ({ drops }) =>
      Object.entries(drops)
        .filter(([cause]) => cause.startsWith("mcap."))
        .reduce((sum, [, count]) => sum + count, 0),
    ),
  }));
  const archive = join(folder, "archive");
  spawnSync(process.execPath, ["dist/edge/cli/main.js", "scene", "--frames", "24", "--out", archive]);
  for (const ahead of ["1", "3"]) {
    const words = [
      "batch",
      archive,
      join(folder, `maps-${ahead}`),
      "--ahead",
      ahead,
      "--json",
      "--set",
      "board=none",
    ];
    const { pairs, seconds, occupancy } = program(...words);
    rows.push({
      kind: "measured",
      what: "a batch of 24 pairs of 640x480",
      ahead: Number(ahead),
      pairs,
      seconds,
      occupancyPercent: occupancy,
    });
  }
  const load = loadavg().map((value) => value.toFixed(1));
  for (const { kind: _, ...row } of rows) console.log(JSON.stringify(row));
  console.log(`load average ${load.join(" ")}`);
  if (values.out !== undefined)
    writeFileSync(values.out, `${JSON.stringify({ load: load.join(", "), rows }, undefined, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
