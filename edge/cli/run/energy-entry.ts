// SPDX-License-Identifier: Apache-2.0
// An entry of the energy log as the journal has it: one sentence, and fields. commands/energy reads the fields back.
import type { Unavailable } from "../../contracts/availability.js";
import type { EnergyRecord } from "../../contracts/energy.js";

const words = (value: unknown): string => {
  if (typeof value === "object" && value !== null && "reason" in value)
    return `unavailable: ${(value as Unavailable).reason}`;
  return String(value);
};

const figure = (value: number | Unavailable, digits: number, unit: string) =>
  typeof value === "number" ? `${value.toFixed(digits)} ${unit}` : `${unit} unavailable`;

/** "30.0 fps, 5.12 W, 0.171 J a frame, 5.86 fps/W" */
export function energyLine({ fps, watts, joulesPerFrame, fpsPerWatt }: EnergyRecord): string {
  const rate = `${fps.toFixed(1)} fps`;
  if (typeof watts !== "number") return `${rate}, watts unavailable`;
  return [
    rate,
    figure(watts, 2, "W"),
    figure(joulesPerFrame, 3, "J a frame"),
    figure(fpsPerWatt, 2, "fps/W"),
  ].join(", ");
}

/** Fields of the journal, DEPTHWATT_ in front; DEPTHWATT_RECORD has the whole entry as JSON. */
export function energyFields(record: EnergyRecord): Record<string, string> {
  const { gpuMegahertz, emcMegahertz, cpuMegahertz, rails } = record;
  const clock = (name: string, value: number | Unavailable) =>
    typeof value === "number" ? [`${name} ${Math.round(value)} MHz`] : [];
  const clocks = [
    ...clock("gpu", gpuMegahertz),
    ...clock("emc", emcMegahertz),
    ...clock("cpu", cpuMegahertz),
  ];
  return {
    event: "energy",
    fps: words(record.fps),
    watts: words(record.watts),
    wattsIdle: words(record.wattsIdle),
    joulesPerFrame: words(record.joulesPerFrame),
    fpsPerWatt: words(record.fpsPerWatt),
    mode: words(record.mode),
    clocks: clocks.join(", ") || "unavailable: no clock can be read",
    temperature: words(record.temperatureCelsius),
    throttled: words(record.throttled),
    matcher: record.matcher,
    ...Object.fromEntries(Object.entries(rails).map(([label, watts]) => [`rail_${label}`, words(watts)])),
    record: JSON.stringify(record),
  };
}
