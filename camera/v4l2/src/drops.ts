// SPDX-License-Identifier: Apache-2.0
// Counts the images that a camera lost, by cause.
import type { V4l2Camera } from "./camera.js";

/**
 * Adds the losses of one camera under the names that metrics use. Images dropped here have sequence numbers too, so
 * the remaining gaps are images that the driver never delivered.
 */
export function addDrops(drops: Record<string, number>, camera: V4l2Camera): void {
  const counts = camera.native.statistics();
  const ownDrops =
    counts.errorFlagged + counts.empty + counts.oversized + counts.decodeFailed + counts.noFreeBuffer;
  const lost = {
    driver: Math.max(0, camera.sequenceGaps - ownDrops),
    errorFlag: counts.errorFlagged,
    incomplete: counts.empty,
    oversized: counts.oversized,
    decode: counts.decodeFailed,
    noBuffer: counts.noFreeBuffer,
  };
  for (const [cause, count] of Object.entries(lost)) {
    if (count > 0) drops[cause] = (drops[cause] ?? 0) + count;
  }
}
