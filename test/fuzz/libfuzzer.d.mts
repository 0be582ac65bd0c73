// SPDX-License-Identifier: Apache-2.0
// Types of what the tests take from libfuzzer.mjs.
export type NativeTarget = "frame" | "rvl" | "v4l2";
export const NATIVE_TARGETS: Record<NativeTarget, string[]>;
export const FLAGS: string[];
export function libFuzzerRoot(): string | undefined;
export function inRoot(root: string, folder: string, words: readonly string[]): [string, string[]];
export function buildLibFuzzer(root: string, target: NativeTarget, folder: string): void;
