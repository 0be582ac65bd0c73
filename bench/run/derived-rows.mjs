// SPDX-License-Identifier: Apache-2.0
// Derives the share of the machine's limit from the measured rows of `npm run bench`.

/** Vector operations for 64 cells with 512-bit registers, counted in cuda/match/sgm/README.md. */
const OPERATIONS = { 4: 79, 8: 118 };

/**
 * Returns the share of the limit of a measured row, by the counts of the stage's README. Several threads share the
 * memory, not the CPU.
 */
export function shareOfLimit(row, limits) {
  const cells = row.width * row.height * row.numDisparities;
  const operations = (cells / 64) * OPERATIONS[row.paths];
  const perNs = (limits.vectorOperationsPerNs * limits.vectorBytes) / 64;
  const issueMs = operations / perNs / row.threads / 1e6;
  const bytesMs = cells / limits.copyGBs / 1e6;
  return {
    what: "share of the limit",
    paths: row.paths,
    threads: row.threads,
    minMs: row.minMs,
    megaCellUpdatesPerSecond: (cells * row.paths) / row.minMs / 1e3,
    vectorOperationsPer64Cells: OPERATIONS[row.paths],
    issueMs,
    copiedBytes: cells,
    bytesMs,
    shareOfLimit: Math.max(issueMs, bytesMs) / row.minMs,
  };
}
