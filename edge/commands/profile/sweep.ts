// SPDX-License-Identifier: Apache-2.0
// Visits every point of a plan, keeps each result at once, and leaves the machine as it found it.
import { DepthwattError } from "../../../core/index.js";
import { CLOCK_NAMES } from "../../../power/index.js";
import type { ClockLimits } from "../../profile/clock-limits.js";
import type { PowerModes } from "../../profile/power-modes.js";
import { saveProfile } from "../../profile/store.js";
import { type PointResult, type Profile, type ProfilePoint, pointId } from "../../profile/types.js";
import type { MeasureOptions } from "./measure.js";
import { measurePoint } from "./measure.js";

export interface SweepProgress {
  done: number;
  total: number;
  secondsLeft: number;
  /** The current step. */
  step: string;
}

export interface SweepOptions extends MeasureOptions {
  folder: string;
  profile: Profile;
  points: readonly ProfilePoint[];
  modes: PowerModes | undefined;
  clocks: ClockLimits | undefined;
  idleSeconds: number;
  onProgress: (progress: SweepProgress) => void;
  /** Ends after the point that is being measured. */
  signal?: AbortSignal;
}

/** First guess of what setting up a point takes: drawing its pictures, opening and closing the engine. */
const OVERHEAD_SECONDS = 2;

/** Points of the plan that the profile does not hold yet; a point planned several times needs as many results. */
export function missingPoints(
  points: readonly ProfilePoint[],
  results: readonly PointResult[],
): ProfilePoint[] {
  const have = new Map<string, number>();
  for (const { id } of results) have.set(id, (have.get(id) ?? 0) + 1);
  return points.filter((point) => {
    const id = pointId(point);
    const left = have.get(id) ?? 0;
    have.set(id, left - 1);
    return left <= 0;
  });
}

/** A point at another clock than its own would be wrong: heat ends the profile, which continues later. */
async function limitClocks(
  { clockHertz = {} }: ProfilePoint,
  limits: ClockLimits | undefined,
): Promise<void> {
  const reached = (await limits?.change(clockHertz)) ?? {};
  const name = CLOCK_NAMES.find((one) => (reached[one] ?? 0) < (clockHertz[one] ?? 0));
  if (name === undefined) return;
  throw new DepthwattError(
    "DEVICE_UNAVAILABLE",
    `The ${name} clock was limited to ${clockHertz[name]} Hz, and the kernel limits it to ${reached[name]} Hz.`,
    { hint: "Let the board cool down; the same command continues with this point." },
  );
}

/** @throws errors of opening the engine or changing the mode or a clock; earlier measurements are on disk then */
export async function sweep(options: SweepOptions): Promise<void> {
  const { profile, folder, meter, modes, idleSeconds, seconds, warmUpSeconds } = options;
  const todo = missingPoints(options.points, profile.results);
  const total = options.points.length;
  let perPoint = seconds + warmUpSeconds + OVERHEAD_SECONDS;
  let spent = 0;
  const idleLeft = "rails" in meter.sensor ? idleSeconds : 0;
  const report = (left: number, step: string): void =>
    options.onProgress({ done: total - left, total, secondsLeft: left * perPoint + idleLeft, step });
  try {
    if (typeof profile.idleBefore !== "number" && "rails" in meter.sensor) {
      report(todo.length, "idle power");
      profile.idleBefore = await meter.measureIdle(idleSeconds);
      await saveProfile(folder, profile);
    }
    for (const [index, point] of todo.entries()) {
      if (options.signal?.aborted) return;
      report(todo.length - index, pointId(point));
      const begin = performance.now();
      if (point.mode !== undefined) modes?.set(point.mode);
      await limitClocks(point, options.clocks);
      const result = await measurePoint(point, options);
      profile.results.push(result);
      await saveProfile(folder, profile);
      spent += (performance.now() - begin) / 1000;
      perPoint = spent / (index + 1);
    }
    if ("rails" in meter.sensor) {
      report(0, "idle power again");
      profile.idleAfter = await meter.measureIdle(idleSeconds);
    } else {
      profile.idleBefore = meter.sensor;
      profile.idleAfter = meter.sensor;
    }
    report(0, "done");
    await saveProfile(folder, profile);
  } finally {
    await options.clocks?.restore();
    modes?.restore();
  }
}
