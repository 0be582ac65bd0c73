// SPDX-License-Identifier: Apache-2.0
// The one interface of every power sensor. A value that cannot be known is Unavailable with its reason, never 0.

export interface Unavailable {
  available: false;
  /** One sentence for the user: what could not be read and what to do. */
  reason: string;
  /** The system refused the files to this user: a right fixes it. */
  refused?: true;
}

/** Describes one rail before reading it. */
export interface RailDescription {
  /** The board's own label, such as VDD_IN; never an index. */
  label: string;
  /** File or counter that is read. */
  sourcePath: string;
  kind: "power" | "energy";
  /** How often the sensor renews its value, milliseconds; undefined = unknown. */
  updateIntervalMs: number | undefined;
  /** Smallest step of a reading: milliwatts for power, microjoules for energy; undefined = unknown. */
  step: number | undefined;
}

/** One reading of one rail. */
export type RailReading =
  | {
      available: true;
      /** CLOCK_MONOTONIC, halfway between before and after the read, nanoseconds. */
      timestampNs: bigint;
      /** Present for kind "power". */
      powerMilliwatts?: number;
      millivolts?: number;
      milliamperes?: number;
      /** Present for kind "energy": since the sensor was opened, wraps already undone. */
      energyMicrojoules?: bigint;
    }
  | Unavailable;

/** How the rails make the total: one rail, or the sum of several that do not overlap. */
export interface TotalRule {
  rails: string[];
  /** Why these and no others, one sentence. */
  reason: string;
}

export interface PowerSensor {
  /** Such as "rapl", "nvml", "ina3221". */
  readonly name: string;
  readonly rails: readonly RailDescription[];
  readonly total: TotalRule | Unavailable;
  /** Reads every rail once, in the order of `rails`. Never throws: what fails is Unavailable. */
  read(): RailReading[];
  close(): void;
}
