// SPDX-License-Identifier: Apache-2.0
// The watch over a rig, faster than real time: rigs that have turned, then a still one for 30 minutes, drawn by the synthetic
// scene with noise. Ends with 1 where an alarm is missing, late or false.
//   node bench/run/rig-watch.mjs [--minutes 30]
import { greyPairLayout, PairAligner, SceneRenderer, sceneCalibration } from "../../dist/camera/index.js";
import { median } from "../../dist/core/statistics.js";
import { loadNative } from "../../dist/edge/contracts/native.js";
import { rectifiedGeometry } from "../../dist/edge/pipeline/geometry.js";
import { lookGeometryFrom, lookOptions } from "../../dist/edge/rig/health/look-options.js";
import { RigMonitor } from "../../dist/edge/rig/health/monitor.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    minutes: { type: "string", default: "30" },
    ...RESULT_OPTIONS,
  },
});
const SIZE = { width: 640, height: 480 };
const LIMITS = { maxRows: 0.75, maxDegrees: 0.08 };
/** Frames of the scene come at 30 Hz; only those are drawn that the watch may look at. */
const STEP_MS = 500;
const RATE_HZ = 30;
const SLOWEST_LOOK_MS = 4.1;

const geometry = lookGeometryFrom(rectifiedGeometry(sceneCalibration(SIZE), 0));
const away = Math.max(8, Math.round(0.02 * geometry.view.focalPixels));
const reach = { maxWidth: 800, rows: away, minDisparity: -4 - away, maxDisparity: SIZE.width / 2 };

async function watch(seconds, turnedDegrees) {
  const renderer = new SceneRenderer(loadNative(), { ...SIZE, turnedDegrees });
  const aligner = new PairAligner(lookOptions(greyPairLayout(SIZE.width, SIZE.height), geometry, reach));
  let now = 0;
  let begun;
  const cpu = [];
  const alarms = [];
  // At once instead of on its thread, so that each look is done before the next frame.
  const looker = {
    begin: (left, right) => {
      begun = aligner.look(left, right);
      cpu.push(begun.cpuMs);
      // This machine is shared: what a look costs here must not decide how many the simulated run has.
      begun = { ...begun, cpuMs: Math.min(begun.cpuMs, SLOWEST_LOOK_MS) };
      return true;
    },
    take: () => {
      const look = begun;
      begun = undefined;
      return look;
    },
    close: () => aligner.close(),
  };
  const events = {
    onProblem: (problem) => problem && alarms.push({ seconds: now / 1000, text: problem.text }),
  };
  const monitor = new RigMonitor(looker, geometry, LIMITS, events, () => now);
  let largestDegrees = 0;
  for (; now < 1000 * seconds; now += STEP_MS) {
    const { left, right } = await renderer.frame(Math.round((now * RATE_HZ) / 1000));
    monitor.frame({ left, right });
    const { alignment } = monitor.report();
    if (alignment.rotationDegrees) largestDegrees = Math.max(largestDegrees, alignment.rotationDegrees.total);
  }
  const { looks, alignment } = monitor.report();
  monitor.close();
  renderer.close();
  const medianCpuMs = Number(median(cpu).toFixed(2));
  return { turnedDegrees, simulatedSeconds: seconds, looks, medianCpuMs, largestDegrees, alarms, alignment };
}

const DIRECTIONS = [
  ...[0, 1, 2].flatMap((axis) => [1, -1].map((sign) => [0, 1, 2].map((at) => (at === axis ? sign : 0)))),
  // All three at once, so that no axis alone reaches the limit.
  ...[1, -1].flatMap((x) => [1, -1].flatMap((y) => [1, -1].map((z) => [x, y, z]))),
];
const turned = [];
for (const degrees of [0.1, 0.2, 0.5]) {
  for (const direction of DIRECTIONS) {
    const size = Math.hypot(...direction);
    const angles = direction.map((part) => Number(((part * degrees) / size).toFixed(4)));
    const { alarms, alignment } = await watch(6, angles);
    const { pitch, yaw, roll } = alignment.rotationDegrees;
    turned.push({
      turnedDegrees: angles,
      totalDegrees: degrees,
      alarmAfterSeconds: alarms[0]?.seconds ?? null,
      measured: [pitch, yaw, roll],
    });
  }
}
const still = await watch(60 * Number(values.minutes), [0, 0, 0]);
const rows = [
  ...turned.map((row) => ({ kind: "measured", what: "a turned rig", ...row })),
  { kind: "measured", what: "a still rig", ...still },
];
writeResult("rig-watch", values, {
  what: `alarms of the watch over a rig, simulated time: right camera turned by 0.1, 0.2 and 0.5 degrees about each axis and about all three, both ways, then still for ${values.minutes} minutes: bench/run/rig-watch.mjs`,
  size: SIZE,
  limits: LIMITS,
  maxLookCpuMs: SLOWEST_LOOK_MS,
  rows,
});
const late = turned.filter(({ alarmAfterSeconds: after }) => after === null || after > 5);
for (const row of late) console.error(`no alarm within 5 s: ${JSON.stringify(row)}`);
if (still.alarms.length > 0) console.error(`alarms of a still rig: ${JSON.stringify(still.alarms)}`);
if (late.length > 0 || still.alarms.length > 0) process.exitCode = 1;
