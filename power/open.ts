// SPDX-License-Identifier: Apache-2.0
// Which sensor measures this machine best: the board's own rails, then counters, then a battery's gauge. An explicit
// choice that cannot be met is never replaced by another.
import { openBattery } from "./battery.js";
import { CombinedSensor } from "./combined.js";
import { openIna } from "./ina.js";
import type { NvmlBinding } from "./native.js";
import { openNvml } from "./nvml.js";
import { openRapl } from "./rapl.js";
import type { PowerSensor, TotalRule, Unavailable } from "./sensor.js";
import type { ValueReader } from "./sysfs.js";

/** Both INA names mean every power monitor of the board: AGX Thor has one of either kind. */
export const SENSOR_CHOICES = [
  "auto",
  "none",
  "ina3221",
  "ina238",
  "rapl",
  "nvml",
  "rapl+nvml",
  "battery",
  "mqtt",
] as const;
export type SensorChoice = (typeof SENSOR_CHOICES)[number];

export interface OpenSensorOptions {
  choice?: SensorChoice;
  /** The detected board's total. */
  totalRule?: TotalRule;
  /** The native addon's NVML functions; without them NVML is unavailable and says so. */
  native?: NvmlBinding | undefined;
  nvmlDevice?: number;
  /** The sensor that "mqtt" means; power/ talks to no broker itself. */
  external?: PowerSensor | Unavailable;
  /** Root of the file system; another one in tests. */
  root?: string;
  read?: ValueReader;
  clock?: () => bigint;
}

export interface SensorCandidate {
  name: string;
  result: PowerSensor | Unavailable;
}

const isSensor = (result: PowerSensor | Unavailable): result is PowerSensor => "rails" in result;

/** Opens each kind of sensor once; for a list of what is there and why the rest is not. */
export function openCandidates(options: OpenSensorOptions = {}): SensorCandidate[] {
  const { native, nvmlDevice } = options;
  return [
    { name: "ina", result: openIna(options) },
    { name: "rapl", result: openRapl(options) },
    {
      name: "nvml",
      result: openNvml({ ...options, native, ...(nvmlDevice !== undefined && { device: nvmlDevice }) }),
    },
    { name: "battery", result: openBattery(options) },
  ];
}

function choose(
  choice: SensorChoice,
  candidates: readonly SensorCandidate[],
  external: OpenSensorOptions["external"],
): PowerSensor | Unavailable {
  const get = (name: string): PowerSensor | Unavailable => candidates.find((c) => c.name === name)!.result;
  if (choice === "none") return { available: false, reason: "power.sensor is 'none'" };
  if (choice === "mqtt")
    return (
      external ?? {
        available: false,
        reason: "power.sensor is 'mqtt', but nothing is subscribed that delivers the supply's readings",
      }
    );
  if (choice === "rapl+nvml") {
    const parts = [get("rapl"), get("nvml")];
    return parts.find((part) => !isSensor(part)) ?? new CombinedSensor(parts.filter(isSensor));
  }
  if (choice === "ina3221" || choice === "ina238") return get("ina");
  if (choice !== "auto") return get(choice);
  const ina = get("ina");
  if (isSensor(ina) && "rails" in ina.total) return ina;
  const counters = [get("rapl"), get("nvml")].filter(isSensor);
  if (counters.length === 2) return new CombinedSensor(counters);
  const single = counters[0] ?? (isSensor(ina) ? ina : undefined);
  if (single !== undefined) return single;
  const battery = get("battery");
  if (isSensor(battery)) return battery;
  const reasons = candidates.map((c) => `${c.name}: ${isSensor(c.result) ? "there" : c.result.reason}`);
  return { available: false, reason: `no power sensor (${reasons.join("; ")})` };
}

/** Opens the best sensor, or the one that is asked for; otherwise says for each candidate why not. */
export function openBestSensor(options: OpenSensorOptions = {}): PowerSensor | Unavailable {
  const candidates = openCandidates(options);
  const chosen = choose(options.choice ?? "auto", candidates, options.external);
  for (const { result } of candidates) {
    const used =
      chosen === result || (chosen instanceof CombinedSensor && (result as PowerSensor).name !== "battery");
    if (!used && isSensor(result)) result.close();
  }
  return chosen;
}
