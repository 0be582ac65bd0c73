// SPDX-License-Identifier: Apache-2.0
// A modelled board for the governor: watts and speed by quality, heat with a time constant, a coarse noisy sensor, loads
// that come and go. Constructed, not fitted to any board.
import { type QualityLevel, relativeWork } from "../../edge/governor/ladder.js";
import type { Observation } from "../../edge/governor/limits.js";
import { seeded } from "./constructed-profile.js";

export interface BoardModelOptions {
  seed?: number;
  idleWatts?: number;
  /** Joules per frame and unit of relative work. */
  joulesPerWork?: number;
  /** Units of relative work per second. */
  workPerSecond?: number;
  sourceHz?: number;
  noiseWatts?: number;
  stepWatts?: number;
  /** Leakage: extra watts per degree above 40. */
  wattsPerDegree?: number;
  degreesPerWatt?: number;
  thermalSeconds?: number;
  /** Clocks drop to 0.7 at this temperature and return three degrees lower. */
  throttleCelsius?: number;
  /** Load of other programs, watts, by time in seconds. */
  otherWatts?: (seconds: number) => number;
  sensorWorks?: (seconds: number) => boolean;
}

export class BoardModel {
  celsius = 45;
  seconds = 0;
  trueWatts = 0;
  fps = 0;
  #throttling = false;
  readonly #random: () => number;
  readonly #o: Required<BoardModelOptions>;

  constructor(options: BoardModelOptions = {}) {
    this.#o = {
      seed: 3,
      idleWatts: 4,
      joulesPerWork: 4.5e-4,
      workPerSecond: 40_000,
      sourceHz: 30,
      noiseWatts: 0.15,
      stepWatts: 0.152,
      wattsPerDegree: 0.02,
      degreesPerWatt: 3.2,
      thermalSeconds: 40,
      throttleCelsius: 200,
      otherWatts: () => 0,
      sensorWorks: () => true,
      ...options,
    };
    this.#random = seeded(this.#o.seed);
  }

  /** One second at `level`: what a governor would see at its end. */
  second(level: QualityLevel): Observation {
    const o = this.#o;
    const speed = this.#throttling ? 0.7 : 1;
    const capacityFps = (o.workPerSecond * speed) / relativeWork(level);
    this.fps = Math.min(o.sourceHz, level.rateHz ?? Number.POSITIVE_INFINITY, capacityFps);
    const dynamic = this.fps * relativeWork(level) * o.joulesPerWork;
    this.trueWatts =
      o.idleWatts + dynamic + o.otherWatts(this.seconds) + o.wattsPerDegree * Math.max(0, this.celsius - 40);
    const goal = 25 + o.degreesPerWatt * this.trueWatts;
    this.celsius += (goal - this.celsius) / o.thermalSeconds;
    const wasThrottling = this.#throttling;
    if (this.celsius > o.throttleCelsius) this.#throttling = true;
    else if (this.celsius < o.throttleCelsius - 3) this.#throttling = false;
    this.seconds++;
    const noisy = this.trueWatts + o.noiseWatts * (2 * this.#random() - 1);
    const read = Math.round(noisy / o.stepWatts) * o.stepWatts;
    const lost = { available: false as const, reason: "VDD_IN: the device was removed" };
    return {
      nowMs: this.seconds * 1000,
      watts: o.sensorWorks(this.seconds) ? read : lost,
      fps: this.fps * (1 + 0.01 * (this.#random() - 0.5)),
      capacityFps,
      throttled: this.#throttling && !wasThrottling,
    };
  }
}
