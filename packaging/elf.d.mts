// SPDX-License-Identifier: Apache-2.0
// Types of elf.mjs, for the tests.
export function machineOf(path: string): string | undefined;
export function symbolVersions(path: string): Record<string, string>;
export function checkSymbolVersions(path: string, limits: Record<string, string>): Record<string, string>;
