// SPDX-License-Identifier: Apache-2.0
// Makes a folder with its parents. Node's own recursive mkdir never returns where a file system answers ENOENT below a
// folder that is there, as /proc does.
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * Afterwards `path` is a folder.
 * @param mode of the folders that are made, cut by the umask
 * @throws the system's error of the first folder that cannot be made
 */
export function makeFolder(path: string, mode = 0o777): void {
  const whole = resolve(path);
  if (isFolder(whole)) return;
  const parent = dirname(whole);
  if (parent !== whole) makeFolder(parent, mode);
  try {
    mkdirSync(whole, { mode });
  } catch (cause) {
    // Another process may have made it meanwhile.
    if (!isFolder(whole)) throw cause;
  }
}
