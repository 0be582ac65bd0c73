// SPDX-License-Identifier: Apache-2.0
// Statistics of repeated measurements. No function changes its argument.

const sorted = (values) => values.toSorted((a, b) => a - b);

/** Returns the middle value; of an even count the upper one of the two. */
export const median = (values) => sorted(values)[values.length >> 1];

/** Returns the value below which this share of the values lies: 0 is the smallest, 1 the largest. */
export const quantile = (values, share) => sorted(values)[Math.floor(share * (values.length - 1))];

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
