// SPDX-License-Identifier: Apache-2.0
// The types of what tests use of cuda-table.mjs.
export interface KernelTable {
  nvcc: string;
  architectures: number[];
  rows: [string, Record<number, { registers: number; spillBytes: number; warps: number | undefined }>][];
}

export function kernelTable(report: {
  nvcc: string;
  kernels: { kernel: string; architecture: number; registers: number; spillBytes: number }[];
}): KernelTable;

export function tableText(table: KernelTable): string;

export function residentWarps(
  architecture: number,
  kernel: { registers: number; sharedBytes: number; threads: number; dynamic: number },
): number | undefined;
