// SPDX-License-Identifier: Apache-2.0
// Sensors whose rails are plain numbers that the native thread can read, and the way from its rows back to readings.
import { getSystemErrorName } from "node:util";
import {
  type NativeSampler,
  type PowerNative,
  SAMPLE_DOUBLES,
  type SamplerCost,
  type SampleSource,
  STATUS_NOT_A_NUMBER,
  STATUS_NVML,
} from "./native.js";
import type { PowerSensor, RailDescription, RailReading, Unavailable } from "./sensor.js";
import { readFailure } from "./sysfs.js";

/** One rail of a sensor that native code can sample. */
export interface SampledRail extends RailDescription {
  /** Read in this order, one after the other. */
  sources: readonly SampleSource[];
  /** Turns the numbers of `sources` into a reading. May keep state (counters), so it is called once per sample. */
  decode(values: readonly number[], timestampNs: bigint): RailReading;
}

export interface SampledSensor extends PowerSensor {
  readonly rails: readonly SampledRail[];
}

export function isSampled(sensor: PowerSensor): sensor is SampledSensor {
  return sensor.rails.every((rail) => "sources" in rail);
}

const ROWS_PER_DRAIN = 256;
/** Rows the ring holds: 40 s at 100 Hz, longer than any pause of the JavaScript thread that is still of use. */
const CAPACITY_ROWS = 4096;

export class SampledReader {
  readonly #sampler: NativeSampler;
  readonly #rows: Float64Array;
  readonly #rowDoubles: number;
  readonly #values: number[][];
  readonly #sensor: SampledSensor;
  readonly #native: PowerNative;

  private constructor(sensor: SampledSensor, native: PowerNative, sampler: NativeSampler) {
    this.#sensor = sensor;
    this.#native = native;
    this.#sampler = sampler;
    this.#values = sensor.rails.map((rail) => new Array<number>(rail.sources.length).fill(0));
    this.#rowDoubles = this.#values.flat().length * SAMPLE_DOUBLES;
    this.#rows = new Float64Array(ROWS_PER_DRAIN * this.#rowDoubles);
  }

  /** Starts the thread; the sensor's own read() must not be called while it runs. */
  static start(sensor: SampledSensor, native: PowerNative, rateHz: number): SampledReader | Unavailable {
    const sampler = native.createSampler({
      sources: sensor.rails.flatMap((rail) => [...rail.sources]),
      periodNs: Math.round(1e9 / rateHz),
      capacityRows: CAPACITY_ROWS,
    });
    return sampler.available ? new SampledReader(sensor, native, sampler) : sampler;
  }

  /** Hands over every reading since the last call, oldest first. */
  drain(take: (rail: number, reading: RailReading, nowNs: bigint) => void): void {
    for (;;) {
      const count = this.#sampler.drain(this.#rows);
      for (let row = 0; row < count; row++) this.#takeRow(row * this.#rowDoubles, take);
      if (count < ROWS_PER_DRAIN) return;
    }
  }

  #takeRow(start: number, take: (rail: number, reading: RailReading, nowNs: bigint) => void): void {
    const rows = this.#rows;
    let at = start;
    for (let index = 0; index < this.#sensor.rails.length; index++) {
      const rail = this.#sensor.rails[index]!;
      const values = this.#values[index]!;
      const beforeNs = rows[at]!;
      let failure: string | undefined;
      for (let i = 0; i < values.length; i++, at += SAMPLE_DOUBLES) {
        values[i] = rows[at + 2]!;
        failure ??= this.#failure(rail.sources[i]!, rows[at + 3]!);
      }
      const afterNs = rows[at - SAMPLE_DOUBLES + 1]!;
      const nowNs = this.#sampler.originNs + BigInt(Math.round((beforeNs + afterNs) / 2));
      const reading: RailReading =
        failure === undefined
          ? rail.decode(values, nowNs)
          : { available: false, reason: `${rail.label}: ${failure}` };
      take(index, reading, nowNs);
    }
  }

  #failure(source: SampleSource, status: number): string | undefined {
    if (status === 0) return undefined;
    if (status >= STATUS_NVML) return this.#native.nvmlErrorText(status - STATUS_NVML);
    const path = "file" in source ? source.file : "NVML";
    if (status === STATUS_NOT_A_NUMBER) return `${path}: expected a whole number, got something else`;
    return readFailure(path, getSystemErrorName(-status));
  }

  get cost(): SamplerCost {
    return this.#sampler.cost();
  }

  stop(): void {
    this.#sampler.stop();
  }
}
