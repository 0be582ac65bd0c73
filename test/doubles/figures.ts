// SPDX-License-Identifier: Apache-2.0
// The scripted facts that the tests of published figures share: an engine's info, a sensor's watts, the state of a board.
import { STAGE_NAMES } from "../../cuda/index.js";
import type { ContextSnapshot, PowerSensor } from "../../power/index.js";

export const INVALID = -32_768;

export const ENGINE_INFO = {
  backend: "cpu",
  backendReason: "as the test says",
  instructionSet: "scalar",
  threads: 3,
  workspaceBytes: 0,
  framesInFlight: 1,
  search: { chosen: "full", reason: "the test's search" },
  memory: { images: "pinned-copy", results: "copied", imagesMicroseconds: 31.5, resultsMicroseconds: 62 },
  verticalOffset: {
    watched: true,
    known: true,
    atLimit: false,
    measuredRows: 1.25,
    appliedRows: 1.5,
    measuredRowsOverWidth: 2.25,
    appliedRowsOverWidth: 2.5,
  },
  noise: { watched: true, known: true, sigma: 3.456, smoothed: true, range: 9 },
} as const;

/** Milliseconds of a stage; each frame has others. */
export const stageMs = (stage: number, frame: number) => (stage + 1) * 0.25 + ((5 * frame) % 11) * 0.5;

/** @param didNotRun a stage without a time */
export const stageTimes = (frame: number, didNotRun?: number) =>
  Float64Array.from(STAGE_NAMES, (_, stage) => (stage === didNotRun ? Number.NaN : stageMs(stage, frame)));

/** Nearest rank, by sorting. */
export function nearestRank(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1]!;
}

/** Milliwatts of one step of scriptedSensor(). */
export const SCRIPTED_STEP = 40;
/** Uncertainty (k = 2) of a steady rail of it: an even spread over one step. */
export const SCRIPTED_UNCERTAINTY = (2 * SCRIPTED_STEP) / 1000 / Math.sqrt(12);

/** A sensor of the rails that `watts` names. The rail main is the total. */
export function scriptedSensor(watts: () => Record<string, number>): PowerSensor {
  return {
    name: "scripted",
    rails: Object.keys(watts()).map((label) => ({
      label,
      sourcePath: label,
      kind: "power",
      updateIntervalMs: undefined,
      step: SCRIPTED_STEP,
    })),
    total: { rails: ["main"], reason: "main feeds all" },
    read: () =>
      Object.values(watts()).map((one) => ({
        available: true,
        timestampNs: process.hrtime.bigint(),
        powerMilliwatts: 1000 * one,
      })),
    close: () => {},
  };
}

export const CONTEXT: ContextSnapshot = {
  powerMode: "15W",
  onlineCores: 6,
  cpuKilohertz: { policy0: 1_500_000 },
  gpuMegahertz: 600,
  emcMegahertz: 2133,
  clocksLocked: true,
  tpcMask: 2,
  emcCapMegahertz: 3199,
  temperaturesCelsius: { cpu: 51.5, gpu: 47 },
  fans: { pwm1: 80 },
  throttle: { oc3: 5 },
};
