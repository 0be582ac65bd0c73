// SPDX-License-Identifier: Apache-2.0
// Reads files that a user names. Opening a pipe waits for its writer and reading a device may never end, so both are refused.
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats, statSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

/** Largest file of settings, a list or a description. */
export const MAX_TEXT_BYTES = 1 << 26;

/** With O_NONBLOCK, open() returns even if a pipe has taken the file's place since stat(). */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Folders pass: reading them fails with Node's own EISDIR. */
function checkRegular(found: Stats, maxBytes = Number.POSITIVE_INFINITY): void {
  const kind = found.isFIFO()
    ? "a pipe"
    : found.isSocket()
      ? "a socket"
      : found.isCharacterDevice() || found.isBlockDevice()
        ? "a device"
        : undefined;
  if (kind !== undefined) throw new Error(`${kind}, where a file was expected`);
  if (found.isFile() && found.size > maxBytes)
    throw new Error(`${found.size} bytes, where at most ${maxBytes} were expected`);
}

/**
 * Reads a regular file.
 * @param maxBytes the largest size that is read
 * @throws Node's error, or an Error whose message says what was found and what was expected
 */
export function readRegularFile(path: string, maxBytes: number): Buffer {
  checkRegular(statSync(path), maxBytes);
  const file = openSync(path, FLAGS);
  try {
    checkRegular(fstatSync(file), maxBytes);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** A network file system that does not answer keeps each call waiting without end. */
const FILE_TIMEOUT_MS = 10_000;

/** Rejects if a file operation takes longer than 10 seconds. */
export async function withFileTimeout<T>(operation: Promise<T>, timeoutMs = FILE_TIMEOUT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const late = () => reject(new Error(`no answer of the file system within ${timeoutMs / 1000} s`));
    timer = setTimeout(late, timeoutMs);
  });
  try {
    return await Promise.race([operation, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Opens a regular file for reading, off the JavaScript thread and within 10 seconds.
 * @throws as readRegularFile
 */
export async function openRegularFile(path: string, maxBytes?: number): Promise<FileHandle> {
  const opening = openChecked(path, maxBytes);
  try {
    return await withFileTimeout(opening);
  } catch (error) {
    // It may still be opened after the timeout.
    void opening.then((handle) => handle.close()).catch(() => {});
    throw error;
  }
}

async function openChecked(path: string, maxBytes?: number): Promise<FileHandle> {
  checkRegular(await stat(path), maxBytes);
  const handle = await open(path, FLAGS);
  try {
    checkRegular(await handle.stat(), maxBytes);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Does what readRegularFile does, off the JavaScript thread. */
export async function readRegularFileAsync(path: string, maxBytes?: number): Promise<Buffer> {
  const handle = await openRegularFile(path, maxBytes);
  try {
    return await withFileTimeout(handle.readFile());
  } finally {
    await handle.close();
  }
}
