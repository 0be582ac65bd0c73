// SPDX-License-Identifier: Apache-2.0
// The governor at work in a run: looks once a second, applies what was decided, and reports it in the metrics.
import type { ClockTargets, Meter, Unavailable } from "../../power/index.js";
import type { AdjustableEngine } from "../pipeline/adjustable-engine.js";
import { ClockLimits } from "../profile/clock-limits.js";
import type { PowerModes } from "../profile/power-modes.js";
import type { GovernorFigures } from "./figures.js";
import type { Governor } from "./governor.js";
import type { QualityLevel } from "./ladder.js";
import type { RateGate } from "./rate-gate.js";

export interface GovernorLoopOptions {
  governor: Governor;
  engine: AdjustableEngine;
  gate: RateGate;
  meter: Pick<Meter, "recent">;
  /** Undefined where no level names a power mode. */
  modes?: PowerModes | undefined;
  /** Undefined where no level limits a clock; with the reason where the settings ask for it in vain. */
  clocks?: ClockLimits | Unavailable | undefined;
  /** Frames computed since the start. */
  frames: () => number;
  /** Returns whether frames are computed now, and how often the run has woken: seconds with a sleep are not observed. */
  activity?: () => { computing: boolean; wakes: number };
  onChange: (reason: string) => void;
  /** A power mode or clock that cannot be changed: the governor continues without it. */
  onProblem?: (problem: Error) => void;
}

export const INTERVAL_MS = 1000;
/** A little more than the interval, so that a window of the meter is never too short. */
export const WINDOW_SECONDS = 1.05;

const shownClocks = ({ gpu, emc }: ClockTargets) => ({
  gpuMegahertz: gpu === undefined ? null : gpu / 1e6,
  emcMegahertz: emc === undefined ? null : emc / 1e6,
});

/** The governor of a run: of it alone, or its part in one that governs several rigs. */
export interface RunGovernor {
  start(): void;
  stop(): Promise<void>;
  /** The ladder in use. */
  readonly levels: readonly QualityLevel[];
  readonly figures: GovernorFigures;
}

export class GovernorLoop implements RunGovernor {
  readonly #options: GovernorLoopOptions;
  #timer: NodeJS.Timeout | undefined;
  #frames = 0;
  #atMs = 0;
  #wakes = 0;
  #modes: PowerModes | undefined;
  #clocks: ClockLimits | undefined;
  #clockFigures: Extract<GovernorFigures, { available: true }>["clocks"];

  constructor(options: GovernorLoopOptions) {
    this.#options = options;
    this.#modes = options.modes;
    const clocks = options.clocks ?? { available: false, reason: "power.clocks is off" };
    this.#clocks = clocks instanceof ClockLimits ? clocks : undefined;
    this.#clockFigures = clocks instanceof ClockLimits ? shownClocks({}) : clocks;
  }

  start(): void {
    this.#frames = this.#options.frames();
    this.#atMs = performance.now();
    this.#wakes = this.#options.activity?.().wakes ?? 0;
    this.#apply();
    this.#timer = setInterval(() => this.look(), INTERVAL_MS);
    this.#timer.unref();
  }

  /** Ends the looking; every frame is taken in again, and the clocks and the power mode from the start come back. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#options.gate.limit(undefined);
    const { clocks, onProblem } = this.#options;
    if (clocks instanceof ClockLimits) await clocks.restore().catch((problem: Error) => onProblem?.(problem));
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
    const { parameters, numDisparities, halfResolution, rateHz, mode, clocks } =
      governor.levels[governor.level]!;
    engine.adjust({ parameters, numDisparities, halfResolution });
    gate.limit(rateHz);
    void this.#changeClocks(clocks);
    this.#modes?.change(mode).catch((problem: Error) => {
      // Once is enough: what refused this mode, mostly a missing right, refuses the next one too.
      if (this.#modes !== undefined) this.#options.onProblem?.(problem);
      this.#modes = undefined;
    });
  }

  /** A clock that cannot be changed, mostly for a missing right or because it has vanished, is not tried again. */
  async #changeClocks(targets: ClockTargets): Promise<void> {
    try {
      const reached = await this.#clocks?.change(targets);
      if (reached !== undefined && this.#clocks !== undefined) this.#clockFigures = shownClocks(reached);
    } catch (problem) {
      if (this.#clocks === undefined) return;
      this.#clocks = undefined;
      this.#clockFigures = { available: false, reason: (problem as Error).message };
      this.#options.onProblem?.(problem as Error);
    }
  }

  /** The ladder in use. */
  get levels(): readonly QualityLevel[] {
    return this.#options.governor.levels;
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
      clocks: this.#clockFigures,
    };
  }
}
