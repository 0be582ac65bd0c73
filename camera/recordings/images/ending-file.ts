// SPDX-License-Identifier: Apache-2.0
// Checks a path before the whole file is read into memory: refuses devices, such as /dev/zero, and files above a size limit.
import { statSync } from "node:fs";

/**
 * Pipes pass, and so do missing files: the read that follows reports those.
 * @param maxBytes the largest size that passes
 * @throws Error with code EFBIG whose message says what was found and what was expected
 */
export function checkHasEnd(path: string, maxBytes: number): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  const refuse = (what: string) => {
    throw Object.assign(new Error(what), { code: "EFBIG" });
  };
  if (found.isCharacterDevice() || found.isBlockDevice()) refuse("a device, where a file was expected");
  if (found.size > maxBytes) refuse(`${found.size} bytes, where at most ${maxBytes} were expected`);
}

/** Largest file of settings, a calibration, a list or a description. */
export const MAX_TEXT_BYTES = 1 << 26;
