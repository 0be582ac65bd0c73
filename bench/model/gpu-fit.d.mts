// SPDX-License-Identifier: Apache-2.0
// The types of what tests use of gpu-fit.mjs.
export interface Row {
  what: string;
  width: number;
  multiprocessors: number;
  streamGigabytesPerSecond: number;
  medianMs: number;
}
export function isFitted(row: Row): boolean;
export function jobOf(row: object): { family: string } | undefined;
