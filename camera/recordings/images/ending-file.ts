// SPDX-License-Identifier: Apache-2.0
// Checks a path before the whole file is read into memory: refuses devices, such as /dev/zero, and files above a size limit.
import { statSync } from "node:fs";

/**
 * Pipes pass, and so do missing files: the read that follows reports those.
 * @param mostBytes the largest size that passes
 * @throws Error with code EFBIG whose message says what was found and what was expected
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
