// SPDX-License-Identifier: Apache-2.0
// Pairs the left and right images of a recording: each the other's nearest in time, at most half a period apart.
import type { ReplayEntry } from "./replay-listing.js";

/** One step of a recording in order of time: a pair, or an image that has no partner. */
export interface ReplayStep {
  left: ReplayEntry | undefined;
  right: ReplayEntry | undefined;
}

/** Median distance between neighbours, ns; undefined for fewer than two images. */
export function medianPeriodNs(entries: readonly ReplayEntry[]): bigint | undefined {
  if (entries.length < 2) return undefined;
  const gaps = entries.slice(1).map((entry, i) => entry.timestampNs - entries[i]!.timestampNs);
  gaps.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return gaps[gaps.length >> 1]!;
}

const distance = (a: ReplayEntry, b: ReplayEntry) => {
  const gap = a.timestampNs - b.timestampNs;
  return gap < 0n ? -gap : gap;
};

/** Index in `others` of the nearest to each entry; of two equally near the earlier one. Both are in order of time. */
function nearestIndices(entries: readonly ReplayEntry[], others: readonly ReplayEntry[]): number[] {
  let at = 0;
  return entries.map((entry) => {
    while (at + 1 < others.length && distance(others[at + 1]!, entry) < distance(others[at]!, entry)) at++;
    return at;
  });
}

/**
 * Pairs left and right images, both in order of time. Never gives one image to two pairs.
 * @param windowNs largest difference within a pair, half a frame period
 */
export function planSteps(
  left: readonly ReplayEntry[],
  right: readonly ReplayEntry[],
  windowNs: bigint,
): ReplayStep[] {
  const nearestRight = nearestIndices(left, right);
  const nearestLeft = nearestIndices(right, left);
  const steps: ReplayStep[] = [];
  const taken = new Set<ReplayEntry>();
  left.forEach((entry, i) => {
    const partner = right[nearestRight[i]!]!;
    const pair = nearestLeft[nearestRight[i]!] === i && distance(entry, partner) <= windowNs;
    if (pair) taken.add(partner);
    steps.push({ left: entry, right: pair ? partner : undefined });
  });
  for (const entry of right) if (!taken.has(entry)) steps.push({ left: undefined, right: entry });
  const time = (step: ReplayStep) => (step.left ?? step.right)!.timestampNs;
  return steps.sort((a, b) => (time(a) < time(b) ? -1 : time(a) > time(b) ? 1 : 0));
}
