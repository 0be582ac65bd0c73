// SPDX-License-Identifier: Apache-2.0
// Statistics of measured values. No function changes its argument.

/** Returns the arithmetic mean; NaN for no values. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

/**
 * Returns the value below which a share of the values lies; NaN for no values. Values that are NaN do not count.
 * @param share 0 to 1: 0 gives the smallest value, 1 the largest
 */
export function quantile(values: Iterable<number>, share: number): number {
  const sorted = [...values].filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Returns the middle value, the upper one of two; NaN for no values. Values that are NaN do not count. */
export const median = (values: Iterable<number>): number => quantile(values, 0.5);
