// SPDX-License-Identifier: Apache-2.0
// Measures the CPU time of one entry of the energy log: the meter's report over ten seconds, the conditions, the line, its
// write with datasync, and the journal's datagram without its sending. Four rails of a scripted sensor at 50 Hz.
//   node bench/run/energy-log.mjs [--entries 400]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EnergyFile } from "../../dist/edge/outputs/energy/energy-file.js";
import { EnergyLog } from "../../dist/edge/power/energy-log.js";
import { journalEntry, journalFields } from "../../dist/edge/service/journal.js";
import { Meter, readContext } from "../../dist/power/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: { entries: { type: "string", default: "400" }, ...RESULT_OPTIONS },
});
const entries = Number(values.entries);
const INTERVAL_S = 10;
const [RATE_HZ, FPS] = [50, 30];

let nowNs = 1_000_000_000n;
const clock = () => nowNs;
const labels = ["VDD_IN", "VDD_CPU", "VDD_GPU", "VDD_SOC"];
const sensor = {
  name: "scripted",
  rails: labels.map((label) => ({
    label,
    sourcePath: "scripted",
    kind: "power",
    updateIntervalMs: 20,
    step: 5,
  })),
  total: { rails: ["VDD_IN"], reason: "a test" },
  read: () =>
    labels.map((_, i) => ({
      available: true,
      timestampNs: nowNs,
      powerMilliwatts: 1000 * (5 + i + Math.sin(Number(nowNs) / 1e9)),
    })),
  close() {},
};
const meter = new Meter({ sensor, rateHz: RATE_HZ, clock, readContext });
let frames = 0;
const folder = mkdtempSync(join(tmpdir(), "depthwatt-energy-log-"));
const file = new EnergyFile(join(folder, "energy.jsonl"), {
  rotateMegabytes: 100,
  rotateHours: 24,
  compress: false,
});
await file.open();
const log = new EnergyLog({
  report: (window) => meter.report(window),
  frames: () => frames,
  matcher: () => "sgm, 4 paths, 128 disparities",
  onRecord: () => {},
  clock,
});
/** Ten seconds of a run, which are there without the log too. */
function run() {
  for (let i = 0; i < INTERVAL_S * RATE_HZ; i++) {
    nowNs += BigInt(1e9 / RATE_HZ);
    meter.sample();
  }
  for (let i = 0; i < INTERVAL_S * FPS; i++) meter.frame(nowNs - BigInt(Math.round((i * 1e9) / FPS)));
  frames += INTERVAL_S * FPS;
}
// begin() with 0 starts no timer: take() is called by hand.
log.begin(0);
const spent = [];
let record;
for (let entry = -20; entry < entries; entry++) {
  run();
  const before = process.cpuUsage();
  record = log.take();
  await file.write(record);
  journalEntry(journalFields(JSON.stringify({ level: 30, msg: "energy", ...record })));
  const { user, system } = process.cpuUsage(before);
  if (entry >= 0) spent.push(user + system);
}
rmSync(folder, { recursive: true });
if (typeof record.watts !== "number")
  throw new Error(`the meter measured nothing: ${JSON.stringify(record.watts)}`);
const sorted = spent.toSorted((a, b) => a - b);
const mean = spent.reduce((sum, value) => sum + value, 0) / spent.length;
const percent = (microseconds) => Number(((100 * microseconds) / (INTERVAL_S * 1e6)).toFixed(5));
writeResult("energy-log", values, {
  what: "CPU time of one entry of the energy log: report, conditions, line with datasync, journal datagram",
  rows: [
    {
      kind: "measured",
      entries,
      intervalSeconds: INTERVAL_S,
      cpuMicrosecondsMean: Number(mean.toFixed(1)),
      cpuMicrosecondsMedian: sorted[Math.floor(sorted.length / 2)],
      cpuMicrosecondsP95: sorted[Math.floor(0.95 * sorted.length)],
      percentOfACore: percent(mean),
      goalPercent: 0.1,
    },
  ],
});
