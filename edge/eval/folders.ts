// SPDX-License-Identifier: Apache-2.0
// Looks at the folders of a benchmark.
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { withFileTimeout } from "../../core/index.js";

/** Returns the sorted names of a folder's entries; none if it cannot be read. */
export async function namesIn(folder: string): Promise<string[]> {
  const names = await withFileTimeout(readdir(folder)).catch(() => []);
  return names.sort();
}

export async function exists(...path: readonly string[]): Promise<boolean> {
  const found = await withFileTimeout(stat(join(...path))).catch(() => undefined);
  return found !== undefined;
}
