// SPDX-License-Identifier: Apache-2.0
// The battery's own gauge: it measures the whole machine, but only while nothing charges or feeds it.
import { join } from "node:path";
import type { PowerSensor, RailDescription, RailReading, TotalRule, Unavailable } from "./sensor.js";
import { defineSensor } from "./sensor-definition.js";
import { listFolder, parseWholeNumber, readValueFile, type ValueReader } from "./sysfs.js";

export interface BatteryOptions {
  root?: string;
  read?: ValueReader;
  clock?: () => bigint;
}

class BatterySensor implements PowerSensor {
  readonly name = "battery";
  readonly rails: readonly RailDescription[];
  readonly total: TotalRule;
  readonly #folder: string;
  readonly #reader: ValueReader;
  readonly #clock: () => bigint;

  constructor(folder: string, label: string, reader: ValueReader, clock: () => bigint) {
    this.#folder = folder;
    this.#reader = reader;
    this.#clock = clock;
    this.rails = [
      {
        label,
        sourcePath: join(folder, "power_now"),
        kind: "power",
        updateIntervalMs: undefined,
        step: undefined,
      },
    ];
    this.total = { rails: [label], reason: "a discharging battery feeds the whole machine" };
  }

  read(): RailReading[] {
    const status = this.#reader(join(this.#folder, "status"));
    if (!status.ok) return [{ available: false, reason: status.reason }];
    if (status.text !== "Discharging") {
      return [
        {
          available: false,
          reason: `the battery is "${status.text}": its gauge shows the machine's power only while "Discharging"`,
        },
      ];
    }
    const before = this.#clock();
    const power = this.#value("power_now");
    if (typeof power === "number") {
      return [
        { available: true, timestampNs: this.#middle(before), powerMilliwatts: Math.abs(power) / 1000 },
      ];
    }
    const microvolts = this.#value("voltage_now");
    const microamperes = this.#value("current_now");
    if (typeof microvolts !== "number") return [{ available: false, reason: microvolts.reason }];
    if (typeof microamperes !== "number") return [{ available: false, reason: microamperes.reason }];
    const millivolts = microvolts / 1000;
    // Some drivers give the discharge current a minus sign, others do not.
    const milliamperes = Math.abs(microamperes) / 1000;
    const powerMilliwatts = (millivolts * milliamperes) / 1000;
    return [
      { available: true, timestampNs: this.#middle(before), millivolts, milliamperes, powerMilliwatts },
    ];
  }

  #middle(before: bigint): bigint {
    return before + (this.#clock() - before) / 2n;
  }

  #value(name: string): number | { reason: string } {
    const path = join(this.#folder, name);
    const result = this.#reader(path);
    return result.ok ? parseWholeNumber(path, result.text) : { reason: result.reason };
  }

  close(): void {}
}

/** Opens the first battery that /sys/class/power_supply lists; USB-C ports and chargers there are no batteries. */
export function openBattery(options: BatteryOptions = {}): PowerSensor | Unavailable {
  const read = options.read ?? readValueFile;
  const folder = join(options.root ?? "/", "sys/class/power_supply");
  for (const supply of listFolder(folder)) {
    if (supply.startsWith("ucsi-source-psy-")) continue;
    const type = read(join(folder, supply, "type"));
    const scope = read(join(folder, supply, "scope"));
    if (!type.ok || type.text !== "Battery" || (scope.ok && scope.text === "Device")) continue;
    return new BatterySensor(join(folder, supply), supply, read, options.clock ?? process.hrtime.bigint);
  }
  return { available: false, reason: `no battery under ${folder}` };
}

export const battery = defineSensor({
  name: "battery",
  choices: ["battery"],
  measures: "battery",
  open: openBattery,
});
