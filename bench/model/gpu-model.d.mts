// SPDX-License-Identifier: Apache-2.0
// The types of what tests use of gpu-model.mjs.
export interface Machine {
  architecture?: number;
  multiprocessors: number;
  megahertz: number;
  copyGigabytesPerSecond: number;
  memoryGigabytesPerSecond: number;
  cacheBytes: number;
  beside: boolean;
  startMs: number;
  counts: (
    shape: string,
    padded: number,
  ) => { boundSlotsPerCell: number; instructionsPerCell: number; residentWarps: number };
}
export type Parameters = Record<"walks" | "pixels", Record<string, number>>;
export interface Frame {
  width: number;
  height: number;
  numDisparities: number;
  half?: boolean;
}
export const WALKS: Record<string, { many?: number; bytes: number }>;
export function frameMs(frame: Frame, machine: Machine, parameters: Parameters): number;
export function walkMs(
  job: { kernel: string; width: number; height: number; numDisparities: number; lanes: number },
  machine: Machine,
  parameters: Record<string, number>,
): { total: number };
