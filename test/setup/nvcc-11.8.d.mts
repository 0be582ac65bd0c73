// SPDX-License-Identifier: Apache-2.0
// The types of what tests use of nvcc-11.8.mjs.
export const FLAGS_11_8: string[];

export function cachedNvcc118(folder?: string): string | undefined;

export function fetchNvcc118(folder?: string): string;

export function archives(files: { name: string; text: string }[]): string[];
