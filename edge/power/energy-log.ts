// SPDX-License-Identifier: Apache-2.0
// Makes an entry of the energy log every some seconds: the meter's figures since the entry before, and the conditions.
import {
  type ContextSnapshot,
  type PowerFigures,
  SHORTEST_WINDOW_SECONDS,
  type Unavailable,
} from "../../power/index.js";
import type { EnergyRecord } from "../contracts/energy.js";

export interface EnergyLogOptions {
  /** The meter's figures between two CLOCK_MONOTONIC moments. */
  report(window: { fromNs: bigint; toNs: bigint }): PowerFigures;
  /** Frames computed since the start. */
  frames(): number;
  /** Seconds asleep since the start. */
  asleepSeconds(): number;
  matcher(): string;
  onRecord(record: EnergyRecord): void;
  /** CLOCK_MONOTONIC in nanoseconds. */
  clock?: () => bigint;
  /** The wall clock. */
  now?: () => Date;
}

const missing = (reason: string): Unavailable => ({ available: false, reason });

/** Three decimals more than a reader needs, so that sums of many entries stay exact. */
const round = <T>(value: T): T => (typeof value === "number" ? (Number(value.toPrecision(7)) as T) : value);

const isMissing = (value: object): value is Unavailable => "available" in value && value.available === false;

/** The largest of some readings, where there are any. */
function largest(values: Record<string, number> | Unavailable, what: string): number | Unavailable {
  if (isMissing(values)) return values;
  const numbers = Object.values(values);
  return numbers.length > 0 ? Math.max(...numbers) : missing(`this machine shows no ${what}`);
}

const sum = (counters: Record<string, number>) =>
  Object.values(counters).reduce((total, count) => total + count, 0);

/** The conditions of an entry. @param before the snapshot of the entry before */
function conditions(context: ContextSnapshot | Unavailable, before: ContextSnapshot | undefined) {
  if (isMissing(context)) {
    return {
      mode: context,
      gpuMegahertz: context,
      emcMegahertz: context,
      cpuMegahertz: context,
      temperatureCelsius: context,
      throttled: context,
    };
  }
  const { powerMode, gpuMegahertz, emcMegahertz, cpuKilohertz, temperaturesCelsius, throttle } = context;
  const kilohertz = largest(cpuKilohertz, "clock of the CPU");
  const counters = Object.keys(throttle).length;
  return {
    mode: powerMode,
    gpuMegahertz,
    emcMegahertz,
    cpuMegahertz: typeof kilohertz === "number" ? kilohertz / 1000 : kilohertz,
    temperatureCelsius: largest(temperaturesCelsius, "temperature"),
    throttled:
      counters === 0
        ? missing("this machine has no counter of power or heat limits")
        : before === undefined
          ? missing("a rise needs two readings of the counters")
          : sum(throttle) > sum(before.throttle),
  };
}

export class EnergyLog {
  readonly #options: EnergyLogOptions;
  readonly #clock: () => bigint;
  #timer: NodeJS.Timeout | undefined;
  #fromNs = 0n;
  #fromFrames = 0;
  #fromAsleep = 0;
  #context: ContextSnapshot | undefined;

  constructor(options: EnergyLogOptions) {
    this.#options = options;
    this.#clock = options.clock ?? process.hrtime.bigint;
  }

  /** The first window begins now. @param intervalSeconds 0: no entries */
  begin(intervalSeconds: number): void {
    this.close();
    this.#fromNs = this.#clock();
    this.#fromFrames = this.#options.frames();
    this.#fromAsleep = this.#options.asleepSeconds();
    if (intervalSeconds === 0) return;
    this.#timer = setInterval(() => this.#options.onRecord(this.take()), intervalSeconds * 1000);
    this.#timer.unref();
  }

  /** The entry of the window that ends now; the next one begins. */
  take(): EnergyRecord {
    const { report, frames: countFrames, asleepSeconds, matcher, now = () => new Date() } = this.#options;
    const toNs = this.#clock();
    const power = report({ fromNs: this.#fromNs, toNs });
    const seconds = Number(toNs - this.#fromNs) / 1e9;
    const frames = countFrames() - this.#fromFrames;
    const asleep = asleepSeconds();
    // The reason is a long sentence: it is given once.
    const noWatts = missing("the watts are unavailable");
    const context = power.available ? power.context : noWatts;
    const record: EnergyRecord = {
      time: now().toISOString(),
      seconds: round(seconds),
      asleepSeconds: round(asleep - this.#fromAsleep),
      frames,
      fps: round(frames / seconds),
      matcher: matcher(),
      watts: power.available ? round(power.watts) : missing(power.reason),
      wattsUncertainty: power.available ? round(power.wattsUncertainty) : noWatts,
      wattsIdle: power.available ? round(power.idleWatts) : noWatts,
      joules: power.available ? round(power.joules) : noWatts,
      joulesPerFrame: power.available ? round(power.joulesPerFrame) : noWatts,
      fpsPerWatt: power.available ? round(power.fpsPerWatt) : noWatts,
      rails: Object.fromEntries(
        Object.entries(power.rails ?? {}).map(([label, rail]) => [
          label,
          rail.available ? round(rail.watts) : rail,
        ]),
      ),
      ...conditions(context, this.#context),
    };
    this.#context = isMissing(context) ? undefined : context;
    this.#fromNs = toNs;
    this.#fromFrames += frames;
    this.#fromAsleep = asleep;
    return record;
  }

  /** Makes an entry of the last window if it is long enough for one. */
  end(): void {
    if (this.#timer === undefined) return;
    this.close();
    const seconds = Number(this.#clock() - this.#fromNs) / 1e9;
    if (seconds >= SHORTEST_WINDOW_SECONDS) this.#options.onRecord(this.take());
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
