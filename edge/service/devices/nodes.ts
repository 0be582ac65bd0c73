// SPDX-License-Identifier: Apache-2.0
// The GPU nodes of this machine, with the numbers that the kernel compares.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type DeviceNode, type DriverNames, isGpuNode, parseDrivers } from "./rules.js";

/** Where GPU nodes are; only these folders are read. */
const FOLDERS = ["dev", "dev/dri", "dev/nvgpu", "dev/nvidia-caps"];

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function nodeAt(root: string, path: string): DeviceNode[] {
  try {
    const status = statSync(join(root, path));
    if (!status.isCharacterDevice()) return [];
    // Linux: 12 bits of the major number above 8 bits of the minor one, whose rest is above both.
    const { rdev } = status;
    const minor = (rdev & 0xff) | ((rdev >>> 12) & 0xfff00);
    return [{ path: `/${path}`, major: (rdev >>> 8) & 0xfff, minor }];
  } catch {
    return [];
  }
}

/** Lists the GPU nodes. @param root what "/" means; another folder in tests */
export function gpuNodes(root = "/"): DeviceNode[] {
  const gpus = namesIn(join(root, "dev/nvgpu")).map((name) => `dev/nvgpu/${name}`);
  const paths = [...FOLDERS, ...gpus].flatMap((folder) =>
    namesIn(join(root, folder)).map((name) => `${folder}/${name}`),
  );
  return paths
    .filter((path) => isGpuNode(`/${path}`))
    .sort()
    .flatMap((path) => nodeAt(root, path));
}

/** Reads the names of character drivers. */
export function readDrivers(root = "/"): DriverNames {
  try {
    return parseDrivers(readFileSync(join(root, "proc/devices"), "utf8"));
  } catch {
    return new Map();
  }
}
