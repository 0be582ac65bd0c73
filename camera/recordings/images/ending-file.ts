// SPDX-License-Identifier: Apache-2.0
// Refuses what has no end before it is read into memory: a device such as /dev/zero, or a file far larger than it can be.
import { statSync } from "node:fs";

/**
 * A pipe is welcome, and so is a path that is not there: reading it says why not.
 * @throws Error with code EFBIG, its message what was found
 */
export function checkHasEnd(path: string, mostBytes: number): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  const refuse = (what: string) => {
    throw Object.assign(new Error(what), { code: "EFBIG" });
  };
  if (found.isCharacterDevice() || found.isBlockDevice()) refuse("a device, where a file was expected");
  if (found.size > mostBytes) refuse(`${found.size} bytes, where at most ${mostBytes} were expected`);
}

/** Largest file of settings, a calibration, a list or a description. */
export const MOST_TEXT_BYTES = 1 << 26;
