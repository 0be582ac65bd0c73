// SPDX-License-Identifier: Apache-2.0
// RAPL through the kernel's powercap files: energy counters that wrap, in zones that nest. A zone inside another is
// shown but never added, because its parent may contain it already.
import { join } from "node:path";
import { type FileRail, FileSensor } from "./file-sensor.js";
import type { PowerSensor, TotalRule, Unavailable } from "./sensor.js";
import { defineSensor } from "./sensor-definition.js";
import { isRefused, listFolder, optionalNumber, readValueFile, type ValueReader } from "./sysfs.js";

export interface RaplOptions {
  /** Root of the file system; another one in tests. */
  root?: string;
  read?: ValueReader;
  clock?: () => bigint;
}

/** Kernel documentation (power/powercap): counters advance about every millisecond. */
const UPDATE_INTERVAL_MS = 1;
/** The energy unit of Intel MSR_RAPL_POWER_UNIT's usual value, 2^-14 J; servers and AMD differ by a power of two. */
const USUAL_STEP_MICROJOULES = 61;

/** Counts up from zero and undoes wraps; a counter that wraps twice between two readings cannot be followed. */
export function unwrapCounter(rangeMicrojoules: number): (raw: number) => bigint {
  let previous: number | undefined;
  let total = 0n;
  return (raw) => {
    if (previous !== undefined) {
      const step = raw >= previous ? raw - previous : raw - previous + rangeMicrojoules;
      total += BigInt(step);
    }
    previous = raw;
    return total;
  };
}

interface Zone {
  label: string;
  nested: boolean;
  name: string;
  energyPath: string;
  rangeMicrojoules: number;
}

function findZones(folder: string, read: ValueReader): Zone[] {
  const zones: Zone[] = [];
  const found = listFolder(folder).filter((name) => /^intel-rapl(-[a-z]+)?:\d+(:\d+)*$/.test(name));
  // The mmio interface shows the same package again; where the msr interface is there too, it would count twice.
  const usesMsr = found.some((name) => name.startsWith("intel-rapl:"));
  for (const zone of found) {
    if (usesMsr && !zone.startsWith("intel-rapl:")) continue;
    const energyPath = join(folder, zone, "energy_uj");
    const name = read(join(folder, zone, "name"));
    if (!name.ok) continue;
    const numbers = zone.slice(zone.indexOf(":") + 1).split(":");
    const nested = numbers.length > 1;
    const parent = nested
      ? zones.find((z) => z.energyPath.includes(`${zone.split(":")[0]}:${numbers[0]}/`))
      : undefined;
    zones.push({
      label: parent === undefined ? name.text : `${parent.label}/${name.text}`,
      nested,
      name: name.text,
      energyPath,
      rangeMicrojoules: optionalNumber(read, join(folder, zone, "max_energy_range_uj")) ?? 2 ** 32,
    });
  }
  return zones;
}

function chooseTotal(
  zones: readonly Zone[],
  firstValues: ReadonlyMap<string, number>,
): TotalRule | Unavailable {
  const top = zones.filter((zone) => !zone.nested);
  const psys = top.find((zone) => zone.name === "psys");
  // Firmware that does not wire psys up leaves its counter at zero for ever.
  if (psys !== undefined && (firstValues.get(psys.label) ?? 0) > 0) {
    return { rails: [psys.label], reason: "psys counts the whole platform, packages included" };
  }
  const packages = top.filter((zone) => zone.name.startsWith("package"));
  if (packages.length > 0) {
    return {
      rails: packages.map((zone) => zone.label),
      reason: "the CPU packages; memory, disks and supply losses are not in it, nested zones are never added",
    };
  }
  return { available: false, reason: "RAPL shows neither a package nor a platform (psys) zone" };
}

/** Finds the RAPL zones. Needs read access to energy_uj, which kernels since 5.10 give to root only. */
export function openRapl(options: RaplOptions = {}): PowerSensor | Unavailable {
  const read = options.read ?? readValueFile;
  const folder = join(options.root ?? "/", "sys/class/powercap");
  const zones = findZones(folder, read);
  if (zones.length === 0) {
    return {
      available: false,
      reason: `no RAPL zone under ${folder}: not an x86 CPU with RAPL, a virtual machine, or the module intel_rapl_msr is not loaded`,
    };
  }
  const firstValues = new Map<string, number>();
  const failures: string[] = [];
  let refused = false;
  for (const zone of zones) {
    const value = read(zone.energyPath);
    if (value.ok) firstValues.set(zone.label, Number(value.text));
    else {
      failures.push(value.reason);
      refused ||= isRefused(value.code);
    }
  }
  if (firstValues.size === 0) {
    return { available: false, reason: failures[0]!, ...(refused && { refused }) };
  }
  const rails = zones.map((zone): FileRail => {
    const unwrap = unwrapCounter(zone.rangeMicrojoules);
    return {
      label: zone.label,
      sourcePath: zone.energyPath,
      kind: "energy",
      updateIntervalMs: UPDATE_INTERVAL_MS,
      step: USUAL_STEP_MICROJOULES,
      sources: [{ file: zone.energyPath }],
      decode: ([raw], timestampNs) => ({ available: true, timestampNs, energyMicrojoules: unwrap(raw!) }),
    };
  });
  return new FileSensor({
    name: "rapl",
    rails,
    total: chooseTotal(zones, firstValues),
    read,
    ...(options.clock && { clock: options.clock }),
  });
}

export const rapl = defineSensor({ name: "rapl", choices: ["rapl"], measures: "part", open: openRapl });
