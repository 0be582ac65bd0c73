// SPDX-License-Identifier: Apache-2.0
// What follows from the measured rows of `npm run bench`: the gain of a second core, the share of the machine's limit.

/** Vector operations for 64 cells with 512-bit registers, counted in cuda/match/sgm/README.md. */
const OPERATIONS = { 4: 79, 8: 118 };

/** The second core: how many times as fast two threads are as one. */
export function secondCore(rows) {
  const minOf = (paths, threads) =>
    rows.find((row) => row.what === "depthwatt" && row.paths === paths && row.threads === threads);
  return [4, 8].flatMap((paths) => {
    const [one, two] = [minOf(paths, 1), minOf(paths, 2)];
    if (!one || !two) return [];
    return [
      { what: "two threads", paths, byMedian: one.medianMs / two.medianMs, byMinimum: one.minMs / two.minMs },
    ];
  });
}

/** What the counts of the room's README say about a measured row. Several threads share the memory, not the processor. */
export function shareOfLimit(row, limits) {
  const cells = row.width * row.height * row.numDisparities;
  const operations = (cells / 64) * OPERATIONS[row.paths];
  const perNs = (limits.vectorOperationsPerNs * limits.vectorBytes) / 64;
  const issueMs = operations / perNs / row.threads / 1e6;
  const bytesMs = cells / limits.copyGBs / 1e6;
  return {
    what: "share of the limit",
    ...{ paths: row.paths, threads: row.threads, minMs: row.minMs },
    megaCellUpdatesPerSecond: (cells * row.paths) / row.minMs / 1e3,
    vectorOperationsPer64Cells: OPERATIONS[row.paths],
    issueMs,
    copiedBytes: cells,
    bytesMs,
    shareOfLimit: Math.max(issueMs, bytesMs) / row.minMs,
  };
}
