// SPDX-License-Identifier: Apache-2.0
// Types of addons.mjs, for the tests.
export const COMPILERS: Record<string, string>;
export function addonFlags(
  folder: string,
  options: { name: string; compiler: string; x64: boolean },
): string[];
export function copySources(project: string, root: string, headers: string): string;
