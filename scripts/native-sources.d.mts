// SPDX-License-Identifier: Apache-2.0
// Types of what the tests take from native-sources.mjs.
export function nativeSources(root?: string): string[];
export function writeGeneratedHeaders(root?: string): void;
