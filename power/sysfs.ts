// SPDX-License-Identifier: Apache-2.0
// Reads kernel text files and says in a sentence why one could not be read; nothing here throws.
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs";

/** Where the udev rule that opens the power files to the service's group lies, relative to the package. */
export const UDEV_RULE = "dist/power/udev/60-depthwatt-power.rules";

export type TextRead = { ok: true; text: string } | { ok: false; code: string; reason: string };

/** Reads one value file; one allocation-free buffer each is enough for every value the kernel prints. */
export type ValueReader = (path: string) => TextRead;

const buffer = Buffer.alloc(4096);

/** Trims white space and the NUL that ends every device-tree string. */
export function cleanText(text: string): string {
  return text.replace(/\0/g, " ").trim();
}

/** The kernel's words for "not for this user". */
export const isRefused = (code: string): boolean => code === "EACCES" || code === "EPERM";

/** The sentence for a failed read: names the file and, where there is one, the hint. */
export function readFailure(path: string, code: string): string {
  switch (code) {
    case "EACCES":
    case "EPERM":
      return (
        `${path} may not be read by this user: copy ${UDEV_RULE} to /etc/udev/rules.d, run ` +
        "'sudo udevadm control --reload && sudo udevadm trigger' and join the group 'depthwatt', or run as root"
      );
    case "ENOENT":
      return `${path} does not exist`;
    case "ENODEV":
    case "ENXIO":
      return `${path}: the device was removed`;
    case "EIO":
    case "EREMOTEIO":
    case "ETIMEDOUT":
    case "EAGAIN":
      return `${path}: the sensor did not answer on its bus (${code})`;
    default:
      return `${path} could not be read (${code})`;
  }
}

/** One pread-sized read: what a sysfs value needs, without the stat that readFileSync adds. */
export const readValueFile: ValueReader = (path) => {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, "r");
    const bytes = readSync(descriptor, buffer, 0, buffer.length, 0);
    return { ok: true, text: cleanText(buffer.toString("latin1", 0, bytes)) };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code!;
    return { ok: false, code, reason: readFailure(path, code) };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
};

/** A whole file of any length, or undefined where it cannot be read. */
export function readWholeFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Names inside a folder, sorted; an absent or forbidden folder has none. */
export function listFolder(path: string): string[] {
  try {
    return readdirSync(path).sort();
  } catch {
    return [];
  }
}

/** Where a symbolic link points, or undefined. */
export function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** A whole number, or the sentence that says what stood there instead. */
export function parseWholeNumber(path: string, text: string): number | { reason: string } {
  if (!/^[+-]?\d{1,19}$/.test(text)) {
    return { reason: `${path}: expected a whole number, got ${JSON.stringify(text.slice(0, 40))}` };
  }
  return Number(text);
}

/** Reads a whole number where its absence is no news: an optional attribute. */
export function optionalNumber(read: ValueReader, path: string): number | undefined {
  const result = read(path);
  if (!result.ok) return undefined;
  const value = parseWholeNumber(path, result.text);
  return typeof value === "number" ? value : undefined;
}
