// SPDX-License-Identifier: Apache-2.0
// Integrates every rail over time on its own clock and joins frames to energy by their capture time.
import { setTimeout as delay } from "node:timers/promises";
import type { FrameEnergy } from "../core/index.js";
import type { ContextSnapshot } from "./context.js";
import { ContextHistory } from "./context-history.js";
import { FrameEnergies } from "./frame-energy.js";
import { FrameTimes } from "./frame-times.js";
import type { PowerNative } from "./native.js";
import {
  expandedUncertainty,
  type Figure,
  type PowerFigures,
  perFrame,
  type RailFigure,
  railFigure,
  samplingFigures,
} from "./report.js";
import { isSampled, SampledReader } from "./sampled.js";
import type { PowerSensor, Unavailable } from "./sensor.js";
import { type RailEnergy, RailSeries, sumOfRails } from "./series.js";

export interface MeterOptions {
  sensor: PowerSensor | Unavailable;
  /**
   * Opens the sensor again while there is none, or none with a total: monitors may appear minutes after the boot. Asked
   * every 5 s in the first minute, then once a minute.
   */
  reopen?: (() => PowerSensor | Unavailable) | undefined;
  /** Readings per second asked for, 1 to 1000; the sensor's own interval bounds it. Default 50. */
  rateHz?: number;
  /** Samples kept per rail; older energy stays in the sums. Default: ten minutes' worth. */
  capacity?: number;
  /** Conditions next to the figures, read once a second; left out where no consumer asks. */
  readContext?: () => ContextSnapshot;
  /** Reads on a native thread where the sensor allows it; without it, on a JavaScript timer. */
  native?: PowerNative | undefined;
  /** CLOCK_MONOTONIC in nanoseconds. */
  clock?: () => bigint;
}

/** Shorter windows hold too few readings of sensors that renew every 20 to 100 ms. */
export const SHORTEST_WINDOW_SECONDS = 1;
/** How often the native thread's ring is emptied. */
const DRAIN_INTERVAL_MS = 200;
const REOPEN_MS = 5000;
/** After this many attempts the sensor is opened once a minute. */
const QUICK_REOPENS = 12;
const SLOW_REOPEN_MS = 60_000;

const missing = (reason: string): Unavailable => ({ available: false, reason });
const FRAMES_KEPT = 1 << 17;
const NO_CONTEXT = { context: missing("the conditions were not asked for"), changed: [] };

/** Returns whether a sensor gives the board's total. */
const hasTotal = (sensor: PowerSensor | Unavailable): boolean => "rails" in sensor && "rails" in sensor.total;

export class Meter {
  #sensor: PowerSensor | Unavailable;
  #rateHz = 0;
  readonly #clock: () => bigint;
  readonly #originNs: bigint;
  #series: RailSeries[] = [];
  /** Rails of the total. */
  #totalSeries: RailSeries[] = [];
  #frames = new FrameTimes(FRAMES_KEPT);
  #frameEnergies = new FrameEnergies();
  #capacity = 0;
  readonly #options: MeterOptions;
  #reopening: NodeJS.Timeout | undefined;
  readonly #contexts: ContextHistory | undefined;
  readonly #native: PowerNative | undefined;
  #reader: SampledReader | undefined;
  #timer: NodeJS.Timeout | undefined;
  #idle: Figure = missing("no idle baseline was measured");

  constructor(options: MeterOptions) {
    this.#options = options;
    this.#sensor = options.sensor;
    this.#clock = options.clock ?? process.hrtime.bigint;
    this.#originNs = this.#clock();
    if (options.readContext !== undefined) this.#contexts = new ContextHistory(options.readContext);
    this.#native = options.native;
    this.#adopt(options.sensor);
  }

  /** The sensor that is read now. */
  get sensor(): PowerSensor | Unavailable {
    return this.#sensor;
  }

  /** The idle baseline; unavailable before it was measured. */
  get idleWatts(): Figure {
    return this.#idle;
  }

  /** Readings per second. */
  get rateHz(): number {
    return this.#rateHz;
  }

  #adopt(sensor: PowerSensor | Unavailable): void {
    this.#sensor = sensor;
    const asked = this.#options.rateHz ?? 50;
    this.#rateHz = asked;
    if (!("rails" in sensor)) return;
    const intervals = sensor.rails.map((rail) => rail.updateIntervalMs ?? 0);
    const fastestMs = Math.max(1000 / asked, Math.min(...intervals));
    this.#rateHz = 1000 / fastestMs;
    this.#capacity = this.#options.capacity ?? Math.ceil(600 * this.rateHz);
    this.restart();
  }

  /** Looks for the sensor again after some time, for as long as there is no total. */
  #reopenLater(attempt = 0): void {
    const { reopen } = this.#options;
    if (reopen === undefined || hasTotal(this.sensor)) return;
    const waitMs = attempt < QUICK_REOPENS ? REOPEN_MS : SLOW_REOPEN_MS;
    this.#reopening = setTimeout(() => {
      const found = reopen();
      const isBetter = hasTotal(found) || ("rails" in found && !("rails" in this.sensor));
      if (!isBetter && "rails" in found) found.close();
      if (isBetter) {
        const before = this.sensor;
        this.stop();
        if ("rails" in before) before.close();
        this.#adopt(found);
        this.start();
      } else this.#reopenLater(attempt + 1);
    }, waitMs);
    this.#reopening.unref();
  }

  /** Forgets every reading and frame, so that what counts begins now; the idle baseline stays. */
  restart(): void {
    this.#frames = new FrameTimes(FRAMES_KEPT);
    this.#frameEnergies = new FrameEnergies();
    this.#totalSeries = [];
    if (!("rails" in this.sensor)) return;
    const periodMs = 1000 / this.rateHz;
    this.#series = this.sensor.rails.map((rail) => {
      const gapLimitMs = Math.max(500, 10 * periodMs, 3 * (rail.updateIntervalMs ?? 0));
      return new RailSeries(rail, this.#originNs, gapLimitMs * 1e6, this.#capacity);
    });
    const { total } = this.sensor;
    if ("rails" in total && total.rails.every((label) => this.#labels.includes(label)))
      this.#totalSeries = total.rails.map((label) => this.#series[this.#labels.indexOf(label)]!);
  }

  /** Starts to read, on the native thread where it can be; keeps no process alive. */
  start(): void {
    if (this.#reopening === undefined) this.#reopenLater();
    if (!("rails" in this.sensor) || this.#timer !== undefined) return;
    if (this.#native !== undefined && isSampled(this.sensor)) {
      const reader = SampledReader.start(this.sensor, this.#native, this.rateHz);
      if (!("available" in reader)) this.#reader = reader;
    }
    this.sample();
    const intervalMs = this.#reader === undefined ? 1000 / this.rateHz : DRAIN_INTERVAL_MS;
    this.#timer = setInterval(() => this.sample(), intervalMs);
    this.#timer.unref();
  }

  stop(): void {
    clearTimeout(this.#reopening);
    this.#reopening = undefined;
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#reader === undefined) return;
    this.sample();
    this.#reader.stop();
    this.#reader = undefined;
  }

  close(): void {
    this.stop();
    if ("rails" in this.sensor) this.sensor.close();
  }

  /** Takes over what the native thread has read, or reads every rail once now. */
  sample(): void {
    if (!("rails" in this.sensor)) return;
    if (this.#reader !== undefined) {
      this.#reader.drain((rail, reading, nowNs) => this.#series[rail]?.add(reading, nowNs));
    } else {
      const readings = this.sensor.read();
      const now = this.#clock();
      for (const [index, reading] of readings.entries()) this.#series[index]?.add(reading, now);
    }
    this.#contexts?.sample(Number(this.#clock() - this.#originNs));
  }

  /**
   * Notes one finished frame.
   * @param capturedNs CLOCK_MONOTONIC of its capture (of its arrival, for recorded pictures)
   * @returns the energy that the frame carries, see FrameEnergies
   */
  frame(capturedNs: bigint): FrameEnergy | Unavailable {
    const captured = Number(capturedNs - this.#originNs);
    this.#frames.add(captured);
    const sensor = this.sensor;
    if (!("rails" in sensor)) return sensor;
    if (!("rails" in sensor.total)) return sensor.total;
    if (this.#totalSeries.length === 0) return missing("a rail of the total does not exist");
    return this.#frameEnergies.next(captured, this.#totalSeries);
  }

  /** Measures the idle power: call it while nothing runs. Does not wait without a sensor, or when `signal` aborts. It is shown next to the gross figures, never subtracted. */
  async measureIdle(seconds: number, signal?: AbortSignal): Promise<Figure> {
    if (!("rails" in this.sensor)) return this.#idle;
    const from = this.#clock();
    const ownTimer = this.#timer === undefined;
    if (ownTimer) this.start();
    await delay(seconds * 1000, undefined, { signal }).catch(() => {});
    if (ownTimer) this.stop();
    if (signal?.aborted) return this.#idle;
    this.sample();
    return this.setIdleBaseline(from, this.#clock());
  }

  /** Takes the mean power of a window, CLOCK_MONOTONIC nanoseconds, as the idle baseline. */
  setIdleBaseline(fromNs: bigint, toNs: bigint): Figure {
    const figures = this.report({ fromNs, toNs });
    this.#idle = figures.available ? figures.watts : missing(`no idle baseline: ${figures.reason}`);
    return this.#idle;
  }

  /** Energy of one rail between two CLOCK_MONOTONIC moments, by interpolation between readings. */
  railEnergy(label: string, fromNs: bigint, toNs: bigint): RailEnergy | Unavailable {
    if (!("rails" in this.sensor)) return this.sensor;
    const series = this.#series[this.#labels.indexOf(label)];
    if (series === undefined) return missing(`there is no rail ${label}`);
    return series.between(Number(fromNs - this.#originNs), Number(toNs - this.#originNs));
  }

  /**
   * Mean power of the total in bins of `binSeconds`, for a drawing; NaN where a bin has no reading. Shorter bins than the
   * windows of report() carry more noise, so figures are never made of them.
   */
  timeline(fromNs: bigint, toNs: bigint, binSeconds: number): number[] {
    if (!("rails" in this.sensor) || !("rails" in this.sensor.total)) return [];
    const series = this.#totalSeries;
    const from = Number(fromNs - this.#originNs);
    const bins = Math.floor(Number(toNs - fromNs) / (binSeconds * 1e9));
    return Array.from({ length: bins }, (_, bin) => {
      const start = from + bin * binSeconds * 1e9;
      const total = sumOfRails(series.map((one) => one.between(start, start + binSeconds * 1e9)));
      return total.available ? total.watts : Number.NaN;
    });
  }

  get #labels(): string[] {
    return "rails" in this.sensor ? this.sensor.rails.map((rail) => rail.label) : [];
  }

  /** Figures of the last `seconds`, for a line that is renewed every second; takes a fresh reading first. */
  recent(seconds = 5, megaDisparitiesPerFrame?: number): PowerFigures {
    this.sample();
    const toNs = this.#clock();
    return this.report({ fromNs: toNs - BigInt(Math.round(seconds * 1e9)), toNs, megaDisparitiesPerFrame });
  }

  /** Figures since the meter was started, for a summary; takes a fresh reading first. */
  sinceStart(megaDisparitiesPerFrame?: number): PowerFigures {
    this.sample();
    return this.report({ megaDisparitiesPerFrame });
  }

  /**
   * Figures of a window of at least one second.
   * @param window CLOCK_MONOTONIC nanoseconds; without `fromNs` since the start, without `toNs` until now.
   *   `megaDisparitiesPerFrame` is width x height x disparities / 1e6
   */
  report(window: {
    fromNs?: bigint;
    toNs?: bigint;
    megaDisparitiesPerFrame?: number | undefined;
  }): PowerFigures {
    const sensor = this.sensor;
    if (!("rails" in sensor)) return sensor;
    const firstNs = Math.min(
      ...this.#series.map((series) => (Number.isNaN(series.firstNs) ? Infinity : series.firstNs)),
    );
    const asked = window.fromNs === undefined ? -1 : Number(window.fromNs - this.#originNs);
    const from = Math.max(asked, firstNs);
    const to = Number((window.toNs ?? this.#clock()) - this.#originNs);
    const sinceStart = from === firstNs;
    const seconds = (to - from) / 1e9;
    const energies = this.#series.map((s) => (sinceStart ? s.sinceStart(to) : s.between(from, to)));
    const rails: Record<string, RailFigure | Unavailable> = {};
    for (const [index, rail] of sensor.rails.entries()) rails[rail.label] = railFigure(energies[index]!);
    if (!("rails" in sensor.total)) return { ...sensor.total, rails };
    if (!(seconds >= SHORTEST_WINDOW_SECONDS)) {
      const failed = energies.find((energy) => !energy.available);
      if (!Number.isFinite(firstNs) && failed !== undefined && !failed.available) return { ...failed, rails };
      const had = Math.max(0, Number.isFinite(seconds) ? seconds : 0).toFixed(2);
      return { ...missing(`needs a window of at least ${SHORTEST_WINDOW_SECONDS} s, has ${had} s`), rails };
    }
    const total = sumOfRails(sensor.total.rails.map((label) => energies[this.#labels.indexOf(label)]));
    if (!total.available) return { ...total, rails };
    const frames = sinceStart ? this.#frames.total : this.#frames.between(from, to);
    return {
      available: true,
      reason: sensor.total.reason,
      sensor: sensor.name,
      watts: total.watts,
      wattsUncertainty: expandedUncertainty(total),
      idleWatts: this.#idle,
      joules: total.joules,
      ...perFrame({
        frames,
        seconds,
        watts: total.watts,
        idleWatts: this.#idle,
        megaDisparities: window.megaDisparitiesPerFrame,
      }),
      rails,
      windowSeconds: seconds,
      frames,
      sampling: samplingFigures(this.rateHz, this.#reader?.cost),
      ...(this.#contexts?.within(from, to) ?? NO_CONTEXT),
    };
  }
}
