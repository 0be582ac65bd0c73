// SPDX-License-Identifier: Apache-2.0
// The governor at work in a run: looks once a second, applies what was decided, and says so in the metrics.
import type { Meter, Unavailable } from "../../power/index.js";
import type { AdjustableEngine } from "./adjustable-engine.js";
import type { Governor } from "./governor.js";
import type { RateGate } from "./rate-gate.js";

/** `governor` in metrics and summaries. */
export type GovernorFigures =
  | {
      available: true;
      /** Position in the ladder, 0 is the best. */
      level: number;
      levels: number;
      name: string;
      budgetWatts: number | null;
      minFps: number | null;
      /** What it did or does, and why. */
      reason: string;
      changes: number;
    }
  | Unavailable;

export interface GovernorLoopOptions {
  governor: Governor;
  engine: AdjustableEngine;
  gate: RateGate;
  meter: Meter;
  /** Frames computed since the start. */
  frames: () => number;
  onChange: (reason: string) => void;
}

const INTERVAL_MS = 1000;
/** A little more than the interval, so that a window of the meter is never too short. */
const WINDOW_SECONDS = 1.05;

export class GovernorLoop {
  readonly #options: GovernorLoopOptions;
  #timer: NodeJS.Timeout | undefined;
  #frames = 0;
  #atMs = 0;

  constructor(options: GovernorLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#frames = this.#options.frames();
    this.#atMs = performance.now();
    this.#apply();
    this.#timer = setInterval(() => this.look(), INTERVAL_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** One observation and its consequence. */
  look(): void {
    const { governor, meter, engine, frames, onChange } = this.#options;
    const nowMs = performance.now();
    const count = frames();
    const fps = ((count - this.#frames) * 1000) / Math.max(1, nowMs - this.#atMs);
    this.#frames = count;
    this.#atMs = nowMs;
    const power = meter.recent(WINDOW_SECONDS);
    const busyMs = engine.stageMilliseconds.reduce((sum, ms) => sum + (Number.isNaN(ms) ? 0 : ms), 0);
    const decision = governor.observe({
      nowMs,
      watts: power.available ? power.watts : power,
      fps,
      capacityFps: busyMs > 0 ? 1000 / busyMs : undefined,
      throttled: power.available && power.changed.some((change) => change.startsWith("throttle ")),
    });
    if (!decision.changed) return;
    this.#apply();
    onChange(decision.reason);
  }

  #apply(): void {
    const { governor, engine, gate } = this.#options;
    const { paths, numDisparities, rateHz } = governor.levels[governor.level]!;
    engine.adjust({ paths, numDisparities });
    gate.limit(rateHz);
  }

  get figures(): GovernorFigures {
    const { governor } = this.#options;
    const { level, levels, goal, reason, changes } = governor;
    return {
      available: true,
      level,
      levels: levels.length,
      name: levels[level]!.name,
      budgetWatts: goal.budgetWatts ?? null,
      minFps: goal.minFps ?? null,
      reason,
      changes,
    };
  }
}
