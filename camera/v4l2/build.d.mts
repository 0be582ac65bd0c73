// SPDX-License-Identifier: Apache-2.0
// Types of build.mjs, for TypeScript that builds the addon.

/** @throws Error with `hint` and, from the compiler, `output` */
export function buildAddon(root: string, sources: readonly string[], words?: readonly string[]): Promise<string>;
export function buildOwnAddon(words?: readonly string[]): Promise<string>;
export function printFailure(error: unknown): void;
/** Paths from the package's folder, without addon.cc, which is a source too. */
export function addonSources(root?: string): string[];
