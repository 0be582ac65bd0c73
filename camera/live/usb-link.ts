// SPDX-License-Identifier: Apache-2.0
// Reads the USB bus and speed of a camera from sysfs.
import { readFileSync, realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { UsbLink } from "./choose.js";

/** @returns undefined for a camera that is not on USB, or where sysfs cannot be read */
export function usbLinkFrom(device: string, sysfs = "/sys/class/video4linux"): UsbLink | undefined {
  try {
    // A video node belongs to an interface (1-4:1.0), whose parent is the USB device (1-4).
    const usbDevice = dirname(realpathSync(`${sysfs}/${basename(realpathSync(device))}/device`));
    const read = (name: string) => readFileSync(`${usbDevice}/${name}`, "utf8").trim();
    const megabitsPerSecond = Number(read("speed"));
    return megabitsPerSecond > 0 ? { bus: read("busnum"), megabitsPerSecond } : undefined;
  } catch {
    return undefined;
  }
}
