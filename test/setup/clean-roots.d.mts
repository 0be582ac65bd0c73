// SPDX-License-Identifier: Apache-2.0
// Types of what the tests take from clean-roots.mjs.
export function cachedCleanRoot(architecture: string, folder?: string): string | undefined;
export function fetchCleanRoot(architecture: string, folder?: string): string;
