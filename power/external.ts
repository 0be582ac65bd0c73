// SPDX-License-Identifier: Apache-2.0
// A bench supply or smart plug that is read over MQTT. edge/ subscribes to the topic and passes every message to this sensor,
// which finds the number in the JSON and decides when the last reading is too old.
import type { PowerSensor, RailDescription, RailReading, TotalRule } from "./sensor.js";

export interface ExternalSensorOptions {
  /** Where the readings come from, for people: the MQTT topic. */
  source: string;
  /** Path of the number inside the JSON, such as "ENERGY.Power" or "apower"; empty: the message is the number. */
  path: string;
  unit: "milliwatts" | "watts" | "wattHours" | "kilowattHours";
  /** How often a reading comes, milliseconds. */
  intervalMs: number;
  /** A reading older than this is not shown any more, milliseconds. */
  staleAfterMs: number;
  label?: string;
  clock?: () => bigint;
}

/** Follows a path of names and array indices ("a.b[0].c") into parsed JSON; undefined where it leads nowhere. */
export function valueAtPath(value: unknown, path: string): unknown {
  const keys = path.split(/[.[\]]/).filter((key) => key !== "");
  let here: unknown = value;
  for (const key of keys) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string, unknown>)[key];
  }
  return here;
}

/** In whichever unit: more is no reading, and could not be added up. */
const MAX_READING = 1e9;
const MILLIWATTS = { milliwatts: 1, watts: 1000 } as const;
const MICROJOULES = { wattHours: 3.6e9, kilowattHours: 3.6e12 } as const;

export class ExternalSensor implements PowerSensor {
  readonly name = "mqtt";
  readonly rails: readonly RailDescription[];
  readonly total: TotalRule;
  readonly #options: ExternalSensorOptions;
  readonly #clock: () => bigint;
  #latest: RailReading;
  #receivedNs: bigint | undefined;
  #lastCount: number | undefined;
  #energyMicrojoules = 0n;

  constructor(options: ExternalSensorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? process.hrtime.bigint;
    const label = options.label ?? "supply";
    const kind = options.unit in MILLIWATTS ? "power" : "energy";
    this.rails = [
      { label, sourcePath: options.source, kind, updateIntervalMs: options.intervalMs, step: undefined },
    ];
    this.total = {
      rails: [label],
      reason: `${options.source} measures everything behind the supply, its losses included`,
    };
    this.#latest = { available: false, reason: `no message on ${options.source} yet` };
  }

  /**
   * Takes one message as it arrived.
   * @param receivedNs CLOCK_MONOTONIC when it arrived: plugs send no usable time
   */
  accept(message: string, receivedNs: bigint = this.#clock()): void {
    const { source, path, unit } = this.#options;
    let parsed: unknown;
    try {
      parsed = JSON.parse(message);
    } catch {
      this.#latest = {
        available: false,
        reason: `${source}: the message is not JSON: ${message.slice(0, 40)}`,
      };
      return;
    }
    const found = valueAtPath(parsed, path);
    const number = typeof found === "string" && found.trim() !== "" ? Number(found) : found;
    if (typeof number !== "number" || !(Math.abs(number) <= MAX_READING)) {
      // The sender controls the text: quote a bounded piece of it in a reason, never all of it.
      const isGroup = typeof found === "object" && found !== null;
      const words = isGroup ? "a group or a list" : (JSON.stringify(found)?.slice(0, 40) ?? "nothing");
      const wanted =
        typeof number === "number" && !Number.isNaN(number) ? `a number up to ${MAX_READING}` : "a number";
      const reason = `${source}: expected ${wanted} at "${path}", got ${words}`;
      this.#latest = { available: false, reason };
      return;
    }
    this.#receivedNs = receivedNs;
    if (unit === "milliwatts" || unit === "watts") {
      this.#latest = { available: true, timestampNs: receivedNs, powerMilliwatts: number * MILLIWATTS[unit] };
      return;
    }
    // A plug that was reset counts from zero again: only what it has counted since then is known.
    const step =
      this.#lastCount === undefined ? 0 : number >= this.#lastCount ? number - this.#lastCount : number;
    this.#lastCount = number;
    this.#energyMicrojoules += BigInt(Math.round(step * MICROJOULES[unit]));
    this.#latest = { available: true, timestampNs: receivedNs, energyMicrojoules: this.#energyMicrojoules };
  }

  /** Marks the source of the readings as lost; the next reading ends that. */
  lose(reason: string): void {
    this.#latest = { available: false, reason };
  }

  read(): RailReading[] {
    const { source, staleAfterMs } = this.#options;
    if (this.#latest.available && this.#receivedNs !== undefined) {
      const ageMs = Number(this.#clock() - this.#receivedNs) / 1e6;
      if (ageMs > staleAfterMs) {
        const reason = `the last message on ${source} is ${(ageMs / 1000).toFixed(1)} s old (limit ${staleAfterMs / 1000} s)`;
        return [{ available: false, reason }];
      }
    }
    return [this.#latest];
  }

  close(): void {}
}
