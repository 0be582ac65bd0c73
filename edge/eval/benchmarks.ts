// SPDX-License-Identifier: Apache-2.0
// Benchmarks that are read in the folders as downloaded, one line each.

import { readKitti } from "./kitti.js";
import { readMiddlebury } from "./middlebury.js";
import type { SceneEntry } from "./scene-entry.js";

/** Each returns undefined for a folder of another layout. */
const READERS: readonly ((folder: string) => Promise<SceneEntry[] | undefined>)[] = [
  readKitti,
  readMiddlebury,
];

/**
 * Lists the scenes of a benchmark's folder; undefined for a folder that is none.
 * @throws DepthwattError DATASET_INVALID
 */
export async function readBenchmark(folder: string): Promise<SceneEntry[] | undefined> {
  for (const read of READERS) {
    const entries = await read(folder);
    if (entries !== undefined) return entries;
  }
  return undefined;
}
