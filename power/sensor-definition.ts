// SPDX-License-Identifier: Apache-2.0
// The contract of a kind of sensor. A kind is one file of power/ and one line in sensors.ts.
import type { NvmlBinding } from "./native.js";
import type { PowerSensor, TotalRule, Unavailable } from "./sensor.js";
import type { ValueReader } from "./sysfs.js";

/** Options that a sensor may need to open. */
export interface SensorOptions {
  /** The detected board's total. */
  totalRule?: TotalRule;
  /** The native addon's NVML functions. */
  native?: NvmlBinding | undefined;
  /** NVML's index of the GPU, in PCI order; default 0. */
  nvmlDevice?: number;
  /** Root of the file system; another one in tests. */
  root?: string;
  read?: ValueReader;
  clock?: () => bigint;
}

export interface SensorDefinition<Choice extends string = string> {
  /** Its name in lists of candidates. */
  name: string;
  /** Values of power.sensor that choose it. */
  choices: readonly Choice[];
  /**
   * What the sensor measures. `auto` takes a board with a known total first, then all parts together, then a board
   * without a total, then a battery.
   */
  measures: "board" | "part" | "battery";
  /** Finds the sensor. If it is not there, the reason says why. */
  open(options: SensorOptions): PowerSensor | Unavailable;
}

/** Keeps the choices' literal types. */
export function defineSensor<const Choice extends string>(
  definition: SensorDefinition<Choice>,
): SensorDefinition<Choice> {
  return definition;
}
