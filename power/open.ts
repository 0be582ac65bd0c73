// SPDX-License-Identifier: Apache-2.0
// Which sensor measures this machine best: the board's own rails, then counters, then a battery's gauge. An explicit
// choice that cannot be met is never replaced by another.
import { CombinedSensor } from "./combined.js";
import type { PowerSensor, Unavailable } from "./sensor.js";
import type { SensorDefinition, SensorOptions } from "./sensor-definition.js";
import { SENSORS } from "./sensors.js";

type ListedChoice = (typeof SENSORS)[number]["choices"][number];

const LISTED: readonly ListedChoice[] = SENSORS.flatMap(({ choices }): readonly ListedChoice[] => choices);

/** Values of power.sensor. Two names joined by + are both sensors together. */
export const SENSOR_CHOICES = ["auto", "none", ...LISTED, "rapl+nvml", "mqtt"] as const;
export type SensorChoice = (typeof SENSOR_CHOICES)[number];

export interface OpenSensorOptions extends SensorOptions {
  choice?: SensorChoice;
  /** The sensor that "mqtt" means; power/ talks to no broker itself. */
  external?: PowerSensor | Unavailable;
}

export interface SensorCandidate extends Pick<SensorDefinition, "name" | "choices" | "measures"> {
  result: PowerSensor | Unavailable;
}

type Opened = SensorCandidate & { result: PowerSensor };

const isOpen = (candidate: SensorCandidate): candidate is Opened => "rails" in candidate.result;

/** Opens each kind of sensor once. Each candidate is an open sensor or the reason why it is not there. */
export function openCandidates(options: SensorOptions = {}): SensorCandidate[] {
  return SENSORS.map(({ name, choices, measures, open }) => ({
    name,
    choices,
    measures,
    result: open(options),
  }));
}

/** @returns one sensor for all of them; the first one's reason if one is unavailable */
function combine(candidates: readonly SensorCandidate[]): PowerSensor | Unavailable {
  const missing = candidates.find((candidate) => !isOpen(candidate));
  const [first] = candidates;
  if (missing !== undefined || candidates.length === 1) return (missing ?? first!).result;
  return new CombinedSensor(candidates.filter(isOpen).map(({ result }) => result));
}

function chooseAutomatically(candidates: readonly SensorCandidate[]): PowerSensor | Unavailable {
  const open = candidates.filter(isOpen);
  const of = (measures: SensorCandidate["measures"]) => open.filter((one) => one.measures === measures);
  const board = of("board").find(({ result }) => "rails" in result.total);
  if (board !== undefined) return board.result;
  const parts = of("part");
  if (parts.length > 0) return combine(parts);
  const single = of("board")[0] ?? of("battery")[0];
  if (single !== undefined) return single.result;
  const reasons = candidates.map(({ name, result }) => `${name}: ${(result as Unavailable).reason}`);
  return { available: false, reason: `no power sensor (${reasons.join("; ")})` };
}

function choose(
  choice: SensorChoice,
  candidates: readonly SensorCandidate[],
  external: OpenSensorOptions["external"],
): PowerSensor | Unavailable {
  if (choice === "none") return { available: false, reason: "power.sensor is 'none'" };
  if (choice === "mqtt")
    return (
      external ?? {
        available: false,
        reason: "power.sensor is 'mqtt', but nothing is subscribed that delivers the supply's readings",
      }
    );
  if (choice === "auto") return chooseAutomatically(candidates);
  return combine(choice.split("+").map((name) => candidates.find(({ choices }) => choices.includes(name))!));
}

/** Opens the best sensor, or the requested one; otherwise returns for each candidate why it cannot be used. */
export function openBestSensor(options: OpenSensorOptions = {}): PowerSensor | Unavailable {
  const { choice = "auto", external, ...given } = options;
  const candidates = openCandidates(given);
  const chosen = choose(choice, candidates, external);
  const used: readonly unknown[] = chosen instanceof CombinedSensor ? chosen.parts : [chosen];
  for (const { result } of candidates.filter(isOpen)) if (!used.includes(result)) result.close();
  return chosen;
}
