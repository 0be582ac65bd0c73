// SPDX-License-Identifier: Apache-2.0
// Finds video devices: all, by path, and a camera that was replugged under another path.
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { cameraError } from "./errors.js";
import type { NativeAddon, NativeDescription, NativeIdentity } from "./native.js";

/** Where the kernel lists its devices; tests give others. */
export interface DeviceFolders {
  /** Default /sys/class/video4linux. */
  sysfs?: string;
  /** Default /dev. */
  dev?: string;
  /** File that names the board: default /proc/device-tree/compatible. */
  compatible?: string;
}

export interface ListedDevice {
  path: string;
  /** Absent where the device could not be asked. */
  description?: NativeDescription;
  /** Why not. */
  problem?: unknown;
}

/** Paths of all video nodes, in order of their numbers. */
export function videoNodes({ sysfs = "/sys/class/video4linux", dev = "/dev" }: DeviceFolders = {}): string[] {
  if (!existsSync(sysfs)) return [];
  return readdirSync(sysfs)
    .filter((name) => /^video\d+$/.test(name))
    .sort((one, other) => Number(one.slice(5)) - Number(other.slice(5)))
    .map((name) => `${dev}/${name}`);
}

/** Every video node with what it says of itself; a node that cannot be asked is listed with the reason. */
export async function listDevices(
  addon: NativeAddon,
  folders: DeviceFolders = {},
  system?: unknown,
): Promise<ListedDevice[]> {
  return Promise.all(
    videoNodes(folders).map(async (path) => {
      try {
        return { path, description: await addon.describe(path, system) };
      } catch (error) {
        return { path, problem: cameraError(error, path) };
      }
    }),
  );
}

/** True where two paths lead to one device, by link or by name. */
export function isSameDevice(one: string, other: string): boolean {
  return resolved(one) === resolved(other);
}

function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The same camera: same kind in the same place. The node's number is no part of it, for that may change. */
export const isSameCamera = (one: NativeIdentity, other: NativeIdentity): boolean =>
  one.driver === other.driver && one.card === other.card && one.bus === other.bus;

/**
 * Where a camera is now: under its own path if it is still the one there, else wherever a node has its identity.
 * @returns undefined while it is nowhere
 */
export async function findCamera(
  addon: NativeAddon,
  path: string,
  identity: NativeIdentity,
  folders: DeviceFolders = {},
  system?: unknown,
): Promise<string | undefined> {
  for (const candidate of new Set([path, ...videoNodes(folders)])) {
    try {
      const found = await addon.identify(candidate, system);
      if (found.captures && isSameCamera(found, identity)) return candidate;
    } catch {
      // A node that is gone or of somebody else's is not the one looked for.
    }
  }
  return undefined;
}
