// SPDX-License-Identifier: Apache-2.0
// The governor at work in a run: looks once a second, applies what was decided, and reports it in the metrics.
import type { Meter } from "../../power/index.js";
import type { AdjustableEngine } from "../pipeline/adjustable-engine.js";
import type { PowerModes } from "../profile/power-modes.js";
import type { GovernorFigures } from "./figures.js";
import type { Governor } from "./governor.js";
import type { RateGate } from "./rate-gate.js";

export interface GovernorLoopOptions {
  governor: Governor;
  engine: AdjustableEngine;
  gate: RateGate;
  meter: Meter;
  /** Undefined where no level names a power mode. */
  modes?: PowerModes | undefined;
  /** Frames computed since the start. */
  frames: () => number;
  /** Returns whether frames are computed now, and how often the run has woken: seconds with a sleep are not observed. */
  activity?: () => { computing: boolean; wakes: number };
  onChange: (reason: string) => void;
  /** A power mode that cannot be changed: the governor continues without it. */
  onProblem?: (problem: Error) => void;
}

const INTERVAL_MS = 1000;
/** A little more than the interval, so that a window of the meter is never too short. */
const WINDOW_SECONDS = 1.05;

export class GovernorLoop {
  readonly #options: GovernorLoopOptions;
  #timer: NodeJS.Timeout | undefined;
  #frames = 0;
  #atMs = 0;
  #wakes = 0;
  #modes: PowerModes | undefined;

  constructor(options: GovernorLoopOptions) {
    this.#options = options;
    this.#modes = options.modes;
  }

  start(): void {
    this.#frames = this.#options.frames();
    this.#atMs = performance.now();
    this.#wakes = this.#options.activity?.().wakes ?? 0;
    this.#apply();
    this.#timer = setInterval(() => this.look(), INTERVAL_MS);
    this.#timer.unref();
  }

  /** Ends the looking; every frame is taken in again, and the power mode that was on at the start comes back. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#options.gate.limit(undefined);
    await this.#modes?.settled();
    try {
      this.#options.modes?.restore();
    } catch (problem) {
      this.#options.onProblem?.(problem as Error);
    }
  }

  /** One observation and its consequence. */
  look(): void {
    const { governor, meter, engine, frames, activity, onChange } = this.#options;
    const nowMs = performance.now();
    const count = frames();
    const { computing, wakes } = activity?.() ?? { computing: true, wakes: 0 };
    const slept = !computing || wakes !== this.#wakes;
    this.#wakes = computing ? wakes : -1;
    if (slept) {
      this.#frames = count;
      this.#atMs = nowMs;
      return;
    }
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
    const { parameters, numDisparities, halfResolution, rateHz, mode } = governor.levels[governor.level]!;
    engine.adjust({ parameters, numDisparities, halfResolution });
    gate.limit(rateHz);
    this.#modes?.change(mode).catch((problem: Error) => {
      // Once is enough: what refused this mode, mostly a missing right, refuses the next one too.
      if (this.#modes !== undefined) this.#options.onProblem?.(problem);
      this.#modes = undefined;
    });
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
