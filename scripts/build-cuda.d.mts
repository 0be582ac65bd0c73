// SPDX-License-Identifier: Apache-2.0
// The types of what tests use of build-cuda.mjs.
/** The plugin's CUDA sources. */
export const KERNELS: string[];
export const HOST_SOURCES: string[];

export function chooseArchitectures(found: {
  asked: string | undefined;
  board: string[] | undefined;
  gpu: string | undefined;
  toolkit: string[];
}): string[];

export interface KernelResources {
  kernel: string;
  architecture: number;
  stackBytes: number;
  spillBytes: number;
  registers: number;
  sharedBytes: number;
}

export function readResources(log: string): KernelResources[];
