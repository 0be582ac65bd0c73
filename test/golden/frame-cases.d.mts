// SPDX-License-Identifier: Apache-2.0
// The types of frame-cases.mjs.
export function goldenFrames(): Promise<{ name: string; message: Uint8Array; countsCrc: number }[]>;
