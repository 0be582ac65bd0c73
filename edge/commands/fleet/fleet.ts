// SPDX-License-Identifier: Apache-2.0
// Many devices as one table, from the state, info and metrics that each publishes. Every field is checked before it is used.
import type { Consumer } from "../../../clients/javascript/src/index.js";

export interface FleetDevice {
  device: string;
  /** online, degraded, stopped, offline as it says; unknown: no state has come. */
  state: string;
  reason: string;
  /** null: it does not say, or cannot know. */
  version: string | null;
  board: string | null;
  backend: string | null;
  algorithm: string | null;
  fps: number | null;
  watts: number | null;
  /** Why watts is null, as the device says it. */
  powerReason: string | null;
  fpsPerWatt: number | null;
  joulesPerFrame: number | null;
  temperatureCelsius: number | null;
  /** Seconds since the last metrics; null: none came. */
  metricsAgeSeconds: number | null;
  /** One sentence each. */
  warnings: string[];
}

interface Known {
  state: string;
  reason: string;
  info: unknown;
  metrics: unknown;
  metricsMs: number | undefined;
  intervalMs: number | undefined;
  runIds: Set<number>;
}

/** Names on a broker are anybody's: beyond, further ones are only counted. */
export const MAX_DEVICES = 10_000;
/** Runs of one name that are distinguished; anybody at the broker may make up more. */
const MAX_RUNS = 16;
/** Metrics that are this many times later than the ones before are missing. */
const LATE = 5;
const LEAST_LATE_SECONDS = 5;

/** A member of something that may be anything. */
function member(value: unknown, ...path: string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

const numberAt = (value: unknown, ...path: string[]): number | null => {
  const found = member(value, ...path);
  return typeof found === "number" && Number.isFinite(found) ? found : null;
};
const textAt = (value: unknown, ...path: string[]): string | null => {
  const found = member(value, ...path);
  return typeof found === "string" ? found.slice(0, 200) : null;
};

export class Fleet {
  readonly #devices = new Map<string, Known>();
  readonly #now: () => number;
  /** Devices that were too many to be shown. */
  overlooked = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Listens to a consumer of no streams. */
  follow(consumer: Pick<Consumer, "on">): void {
    consumer.on("state", ({ device, state, reason, runId }) => {
      const known = this.#known(device);
      if (known === undefined) return;
      known.state = state;
      known.reason = reason;
      // An offline of another run is its will; a run that continues reports it again.
      if (runId !== undefined && known.runIds.size < MAX_RUNS) known.runIds.add(runId);
      if (state === "offline" || state === "stopped") known.runIds.clear();
    });
    consumer.on("info", ({ device, info }) => {
      const known = this.#known(device);
      if (known !== undefined) known.info = info;
    });
    consumer.on("metrics", ({ device, metrics }) => {
      const known = this.#known(device);
      if (known === undefined) return;
      const now = this.#now();
      if (known.metricsMs !== undefined) known.intervalMs = now - known.metricsMs;
      known.metrics = metrics;
      known.metricsMs = now;
    });
  }

  #known(device: string): Known | undefined {
    const there = this.#devices.get(device);
    if (there !== undefined) return there;
    if (this.#devices.size >= MAX_DEVICES) {
      this.overlooked++;
      return undefined;
    }
    const known: Known = {
      state: "unknown",
      reason: "no state has come",
      info: undefined,
      metrics: undefined,
      metricsMs: undefined,
      intervalMs: undefined,
      runIds: new Set(),
    };
    this.#devices.set(device, known);
    return known;
  }

  #warnings({ state, reason, metrics, runIds, intervalMs }: Known, ageSeconds: number | null): string[] {
    const warnings: string[] = [];
    if (state === "degraded") warnings.push(reason);
    const runsOfName = runIds.size < MAX_RUNS ? `${runIds.size} runs` : `${MAX_RUNS} runs or more`;
    if (runIds.size > 1) warnings.push(`${runsOfName} have this name`);
    const runs = state === "online" || state === "degraded";
    const lateAfter = Math.max(LEAST_LATE_SECONDS, (LATE * (intervalMs ?? 0)) / 1000);
    if (runs && ageSeconds !== null && ageSeconds > lateAfter)
      warnings.push(`no metrics for ${ageSeconds.toFixed(0)} s`);
    if (runs && numberAt(metrics, "fps") === 0) warnings.push("no frames");
    return warnings;
  }

  /** By name. */
  devices(): FleetDevice[] {
    const now = this.#now();
    const rows = [...this.#devices].map(([device, known]): FleetDevice => {
      const { state, reason, info, metrics, metricsMs } = known;
      const age = metricsMs === undefined ? null : (now - metricsMs) / 1000;
      const temperatures = member(metrics, "power", "context", "temperaturesCelsius");
      const hottest = Object.values(Object(temperatures) as object).filter(
        (value) => typeof value === "number",
      );
      return {
        device,
        state,
        reason,
        version: textAt(info, "version"),
        board: textAt(info, "board"),
        backend: textAt(info, "backend"),
        algorithm: textAt(info, "algorithm"),
        fps: numberAt(metrics, "fps"),
        watts: numberAt(metrics, "power", "watts"),
        powerReason:
          member(metrics, "power", "available") === false ? textAt(metrics, "power", "reason") : null,
        fpsPerWatt: numberAt(metrics, "power", "fpsPerWatt"),
        joulesPerFrame: numberAt(metrics, "power", "joulesPerFrame"),
        temperatureCelsius: hottest.length > 0 ? Math.max(...(hottest as number[])) : null,
        metricsAgeSeconds: age === null ? null : Math.round(age * 10) / 10,
        warnings: this.#warnings(known, age),
      };
    });
    return rows.sort((a, b) => (a.device < b.device ? -1 : a.device > b.device ? 1 : 0));
  }
}
