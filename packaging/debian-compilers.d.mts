// SPDX-License-Identifier: Apache-2.0
// Types of what the tests take from debian-compilers.mjs.
export const DEBIANS: Record<string, { packages: string[]; compilers: string[] }>;
export function cachedDebian(suite: string, folder?: string): string | undefined;
export function fetchDebian(suite: string, folder?: string): string;
