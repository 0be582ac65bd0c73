// SPDX-License-Identifier: Apache-2.0
// Quantiles of measured values, some of which may be missing.

/** The value below which `share` (0 to 1) of the values lie; NaN of none. Values that are NaN do not count. */
export function quantile(values: Iterable<number>, share: number): number {
  const sorted = [...values].filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
