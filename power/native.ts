// SPDX-License-Identifier: Apache-2.0
// The native half of power/ as TypeScript sees it; edge takes it from the addon and hands it over. Every function is
// optional to the sensors: without them readings are taken on a JavaScript timer and NVML is unavailable.
import type { Unavailable } from "./sensor.js";

export interface NvmlDevice {
  /** NVML's own index, in PCI order. */
  index: number;
  name: string;
  uuid: string;
}

/** A number, or NVML's own words for why there is none. */
export type NvmlValue = number | { error: string };

export interface NvmlSample {
  powerMilliwatts: NvmlValue;
  /** Since the driver was loaded. */
  energyMillijoules: NvmlValue;
  smClockMegahertz: NvmlValue;
  memoryClockMegahertz: NvmlValue;
  temperatureCelsius: NvmlValue;
  /** Bits of nvmlClocksThrottleReason; 1 = idle, 4 = power cap, 8 = slow-down, 32, 64 = thermal, 128 = power brake. */
  throttleReasons: NvmlValue;
}

export interface NvmlBinding {
  /** Loads libnvidia-ml.so.1; again and again gives the same answer. */
  nvmlOpen(): { available: true; driver: string; devices: NvmlDevice[] } | Unavailable;
  nvmlRead(device: number): NvmlSample;
  nvmlErrorText(status: number): string;
}

/** One number that is read at every tick: a file with a whole number, or a quantity of an NVML device. */
export type SampleSource = { file: string } | { nvml: number; quantity: "power" | "powerUsage" | "energy" };

/** Doubles per source and tick in a drained row: before, after (ns after originNs), value, status. */
export const SAMPLE_DOUBLES = 4;
/** Status of a file that held something else than a whole number. */
export const STATUS_NOT_A_NUMBER = -1;
/** Statuses from here on are NVML's, below it they are errno. */
export const STATUS_NVML = 1000;

export interface SamplerCost {
  wallSeconds: number;
  /** CPU time inside the reads: kernel, bus driver, NVML. */
  readSeconds: number;
  /** Between system calls: an upper bound of the thread's user time. */
  ownSeconds: number;
  /** The rest: the timer's system call, waking up and being switched to. */
  timerSeconds: number;
  slowestReadSeconds: number;
  ticks: number;
  /** Timer expirations that came while a read was still continuing. */
  missedTicks: number;
  /** Rows lost because the ring was full. */
  overruns: number;
}

export interface NativeSampler {
  available: true;
  /** CLOCK_MONOTONIC that the rows' times count from, nanoseconds. */
  originNs: bigint;
  /** Fills `rows` with the oldest rows and returns how many. */
  drain(rows: Float64Array): number;
  cost(): SamplerCost;
  stop(): void;
}

export interface SamplerBinding {
  createSampler(options: {
    sources: SampleSource[];
    /** At least one millisecond. */
    periodNs: number;
    capacityRows: number;
  }): NativeSampler | Unavailable;
}

export type PowerNative = NvmlBinding & SamplerBinding;

/** Types what power/ registers on the native addon. */
export interface PowerExports {
  readonly power: PowerNative;
}
