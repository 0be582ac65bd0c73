// SPDX-License-Identifier: Apache-2.0
// Under which conditions a window was measured: power mode, cores, clocks, temperatures, fan and throttle counters.
// A joule without them cannot be repeated.
import { dirname, join } from "node:path";
import { EMC_CAPS, GPU_FOLDERS } from "./clocks/domains.js";
import type { Unavailable } from "./sensor.js";
import { listFolder, optionalNumber, readValueFile, readWholeFile, type ValueReader } from "./sysfs.js";

export interface ContextSnapshot {
  /** Name of the nvpmodel mode, or the x86 platform profile. */
  powerMode: string | Unavailable;
  onlineCores: number | Unavailable;
  /** Kilohertz now, one per cpufreq policy. */
  cpuKilohertz: Record<string, number> | Unavailable;
  gpuMegahertz: number | Unavailable;
  emcMegahertz: number | Unavailable;
  /** True if the GPU's clock cannot change (jetson_clocks): devfreq's minimum is its maximum. */
  clocksLocked: boolean | Unavailable;
  /** Bits of GPU units that the power mode has switched off, as the kernel shows them: fewer multiprocessors compute. */
  tpcMask: number | Unavailable;
  /** The power mode's limit of the memory clock. */
  emcCapMegahertz: number | Unavailable;
  /** Degrees Celsius by thermal zone type. */
  temperaturesCelsius: Record<string, number>;
  /** Revolutions per minute or PWM steps, by the file's name. */
  fans: Record<string, number>;
  /** Counters and alarms that only ever rise when power or heat was limited. */
  throttle: Record<string, number>;
}

export interface ContextOptions {
  root?: string;
  read?: ValueReader;
  /** Where the GPU's clock may be read, in order of preference; values above 100 000 are hertz. */
  gpuClockPaths?: readonly string[];
  emcClockPaths?: readonly string[];
}

const GPU_CLOCKS = GPU_FOLDERS.map((folder) => `${folder}/cur_freq`);
const EMC_CLOCKS = ["sys/kernel/debug/bpmp/debug/clk/emc/rate"];
const TPC_MASKS = ["sys/devices/platform/gpu.0/tpc_pg_mask", "sys/devices/gpu.0/tpc_pg_mask"];

/** "0-3,6" holds five CPUs. */
export function countCpuList(list: string): number {
  return list
    .split(",")
    .filter((part) => part !== "")
    .reduce((sum, part) => {
      const [first, last = first] = part.split("-").map(Number);
      return sum + last! - first! + 1;
    }, 0);
}

const MODE_LINE = /^\s*<\s*POWER_MODEL\s+ID=(\d+)\s+NAME=(\S+)\s*>/gm;

/** Name of mode `id` in the text of an nvpmodel.conf. */
export function modeName(conf: string, id: number): string | undefined {
  for (const [, number, name] of conf.matchAll(MODE_LINE)) {
    if (Number(number) === id) return name;
  }
  return undefined;
}

/** Names of all modes in the text of an nvpmodel.conf, in its order. */
export function modeNames(conf: string): string[] {
  return [...conf.matchAll(MODE_LINE)].map((match) => match[2]!);
}

/** Name -> number of all modes in the text of an nvpmodel.conf. */
export function modeIds(conf: string): Map<string, number> {
  return new Map([...conf.matchAll(MODE_LINE)].map(([, id, name]) => [name!, Number(id)]));
}

function powerMode(root: string, read: ValueReader): string | Unavailable {
  const status = read(join(root, "var/lib/nvpmodel/status"));
  if (status.ok) {
    const id = /pmode:(\d+)/.exec(status.text)?.[1];
    const conf = readWholeFile(join(root, "etc/nvpmodel.conf"));
    const name = id !== undefined && conf !== undefined ? modeName(conf, Number(id)) : undefined;
    if (name !== undefined) return name;
    return {
      available: false,
      reason: `/var/lib/nvpmodel/status says "${status.text}", a mode that /etc/nvpmodel.conf does not name`,
    };
  }
  const profile = read(join(root, "sys/firmware/acpi/platform_profile"));
  if (profile.ok) return profile.text;
  return { available: false, reason: "neither an nvpmodel status nor an ACPI platform profile" };
}

function firstClock(
  root: string,
  paths: readonly string[],
  what: string,
  read: ValueReader,
): number | Unavailable {
  let refused: string | undefined;
  for (const path of paths) {
    const result = read(join(root, path));
    if (!result.ok) {
      if (result.code === "EACCES") refused ??= result.reason;
      continue;
    }
    const value = Number(result.text);
    if (Number.isFinite(value) && value > 0) return value > 100_000 ? value / 1e6 : value;
  }
  return { available: false, reason: refused ?? `no file shows the ${what} clock on this machine` };
}

/** Compares the limits next to the GPU clock of the machine. */
function clocksLocked(root: string, paths: readonly string[], read: ValueReader): boolean | Unavailable {
  for (const path of paths) {
    const lowest = optionalNumber(read, join(root, dirname(path), "min_freq"));
    const highest = optionalNumber(read, join(root, dirname(path), "max_freq"));
    if (lowest !== undefined && highest !== undefined) return lowest === highest;
  }
  return { available: false, reason: "no devfreq folder shows the limits of the GPU clock" };
}

/** Reads the mask, decimal or 0x. */
function tpcMask(root: string, read: ValueReader): number | Unavailable {
  for (const path of TPC_MASKS) {
    const result = read(join(root, path));
    const mask = result.ok ? Number(result.text) : Number.NaN;
    if (Number.isInteger(mask)) return mask;
  }
  return { available: false, reason: "no file shows which GPU units are switched off" };
}

/** Reads the cap; the kernel shows 0 without one. */
function emcCap(root: string, read: ValueReader): number | Unavailable {
  for (const path of EMC_CAPS) {
    if (optionalNumber(read, join(root, path)) === 0)
      return { available: false, reason: "the power mode does not limit the memory clock" };
  }
  return firstClock(root, EMC_CAPS, "limit of the memory", read);
}

function cpuClocks(root: string, read: ValueReader): Record<string, number> | Unavailable {
  const folder = join(root, "sys/devices/system/cpu/cpufreq");
  const clocks: Record<string, number> = {};
  for (const policy of listFolder(folder)) {
    const now = optionalNumber(read, join(folder, policy, "scaling_cur_freq"));
    if (now !== undefined) clocks[policy] = now;
  }
  if (Object.keys(clocks).length > 0) return clocks;
  return { available: false, reason: `no cpufreq policy under ${folder}` };
}

function thermal(root: string, read: ValueReader): Record<string, number> {
  const folder = join(root, "sys/class/thermal");
  const zones: Record<string, number> = {};
  for (const zone of listFolder(folder)) {
    if (!zone.startsWith("thermal_zone")) continue;
    const type = read(join(folder, zone, "type"));
    // Zones of blocks that are switched off answer with an error or with a value below absolute zero.
    const value = optionalNumber(read, join(folder, zone, "temp"));
    if (type.ok && value !== undefined && value > -100_000) zones[type.text] = value / 1000;
  }
  return zones;
}

function hwmonFiles(root: string, read: ValueReader, pattern: RegExp): Record<string, number> {
  const folder = join(root, "sys/class/hwmon");
  const values: Record<string, number> = {};
  for (const device of listFolder(folder)) {
    const name = read(join(folder, device, "name"));
    for (const file of listFolder(join(folder, device))) {
      if (!pattern.test(file)) continue;
      const value = optionalNumber(read, join(folder, device, file));
      if (value !== undefined) values[`${name.ok ? name.text : device}/${file}`] = value;
    }
  }
  return values;
}

function intelThrottle(root: string, read: ValueReader): Record<string, number> {
  const path = "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count";
  const value = optionalNumber(read, join(root, path));
  return value === undefined ? {} : { package_throttle_count: value };
}

/** Reads everything once; about thirty small files, so once a second is plenty. */
export function readContext(options: ContextOptions = {}): ContextSnapshot {
  const root = options.root ?? "/";
  const read = options.read ?? readValueFile;
  const online = read(join(root, "sys/devices/system/cpu/online"));
  return {
    powerMode: powerMode(root, read),
    onlineCores: online.ok ? countCpuList(online.text) : { available: false, reason: online.reason },
    cpuKilohertz: cpuClocks(root, read),
    gpuMegahertz: firstClock(root, options.gpuClockPaths ?? GPU_CLOCKS, "GPU", read),
    emcMegahertz: firstClock(root, options.emcClockPaths ?? EMC_CLOCKS, "memory", read),
    clocksLocked: clocksLocked(root, options.gpuClockPaths ?? GPU_CLOCKS, read),
    tpcMask: tpcMask(root, read),
    emcCapMegahertz: emcCap(root, read),
    temperaturesCelsius: thermal(root, read),
    fans: hwmonFiles(root, read, /^(fan\d+_input|pwm\d+|rpm)$/),
    throttle: {
      ...hwmonFiles(root, read, /^(oc\d+_event_cnt|curr\d+_(crit|max)_alarm)$/),
      ...intelThrottle(root, read),
    },
  };
}
