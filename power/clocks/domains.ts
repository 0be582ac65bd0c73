// SPDX-License-Identifier: Apache-2.0
// Finds the files that limit the clocks of a Jetson's GPU and memory, and the limits that they accept.
import { dirname, join } from "node:path";
import type { Unavailable } from "../sensor.js";
import { listFolder, optionalNumber, readValueFile, readWholeFile, type ValueReader } from "../sysfs.js";

export const CLOCK_NAMES = ["gpu", "emc"] as const;
/** The GPU's clock, and that of the memory controller. */
export type ClockName = (typeof CLOCK_NAMES)[number];

export interface ClockDomain {
  /** File of the upper limit, hertz. */
  maxFile: string;
  /** File of the lower limit, hertz; undefined: there is none. */
  minFile: string | undefined;
  /** Limits that the board accepts, hertz, ascending. */
  choices: readonly number[];
  /** The limit now, hertz. */
  limit: number;
}

export type Clocks = Record<ClockName, ClockDomain | Unavailable>;

/** Folders of the GPU's clock: Orin, Xavier, TX2, Nano, Orin and Thor on newer kernels. */
export const GPU_FOLDERS = [
  "sys/devices/platform/17000000.gpu/devfreq_dev",
  "sys/devices/17000000.ga10b/devfreq/17000000.ga10b",
  "sys/devices/17000000.gv11b/devfreq/17000000.gv11b",
  "sys/devices/17000000.gp10b/devfreq/17000000.gp10b",
  "sys/devices/57000000.gpu/devfreq/57000000.gpu",
  "sys/class/devfreq/17000000.gpu",
  "sys/class/devfreq/gpu-gpc-0",
];
/** Files by which nvpmodel caps the memory clock; 0: no cap. */
export const EMC_CAPS = ["sys/kernel/nvpmodel_clk_cap/emc", "sys/kernel/nvpmodel_emc_cap/emc_iso_cap"];

function findGpu(root: string, read: ValueReader): ClockDomain | Unavailable {
  for (const folder of GPU_FOLDERS) {
    const at = join(root, folder);
    const limit = optionalNumber(read, join(at, "max_freq"));
    const list = read(join(at, "available_frequencies"));
    if (limit === undefined || !list.ok) continue;
    const choices = list.text
      .split(/\s+/)
      .map(Number)
      .filter((hertz) => hertz > 0);
    const minFile = join(at, "min_freq");
    return {
      maxFile: join(at, "max_freq"),
      minFile: optionalNumber(read, minFile) === undefined ? undefined : minFile,
      choices: choices.sort((a, b) => a - b),
      limit: Math.min(limit, choices.at(-1) ?? limit),
    };
  }
  return {
    available: false,
    reason: "no devfreq folder of a Jetson's GPU was found; the clocks of NVIDIA cards are not changed",
  };
}

/** The memory clocks of nvpmodel.conf: those that NVIDIA uses on this board. */
function emcChoices(root: string): number[] {
  const conf = readWholeFile(join(root, "etc/nvpmodel.conf")) ?? "";
  const mode = /^\s*EMC\s+MAX_FREQ\s+(\d+)/gm;
  const found = [...conf.matchAll(mode)].map(([, hertz]) => Number(hertz)).filter((hertz) => hertz > 0);
  return [...new Set(found)].sort((a, b) => a - b);
}

function findEmc(root: string, read: ValueReader): ClockDomain | Unavailable {
  for (const path of EMC_CAPS) {
    const maxFile = join(root, path);
    const cap = optionalNumber(read, maxFile);
    if (cap === undefined) continue;
    const choices = emcChoices(root);
    if (choices.length === 0) break;
    return { maxFile, minFile: undefined, choices, limit: cap === 0 ? choices.at(-1)! : cap };
  }
  return {
    available: false,
    reason: "no file limits the memory clock, or /etc/nvpmodel.conf names no EMC MAX_FREQ",
  };
}

/** Finds the clocks of this machine. @param root what "/" means; another folder in tests */
export function findClocks(root = "/", read: ValueReader = readValueFile): Clocks {
  return { gpu: findGpu(root, read), emc: findEmc(root, read) };
}

/** The GPU's thermal governor lowers the limits that the kernel shows: the limit below it cannot be read then. */
export function coolingDevice(root = "/", read: ValueReader = readValueFile): string | undefined {
  const folder = join(root, "sys/class/thermal");
  return listFolder(folder)
    .filter((name) => name.startsWith("cooling_device"))
    .map((name) => join(folder, name, "cur_state"))
    .find((path) => {
      const type = read(join(dirname(path), "type"));
      return type.ok && /gpu|devfreq/i.test(type.text) && (optionalNumber(read, path) ?? 0) > 0;
    });
}
