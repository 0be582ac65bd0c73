// SPDX-License-Identifier: Apache-2.0
// The types of exponential-ramp.mjs.
export const FORMS: Record<string, { algorithm: string; parameters: Record<string, number> }>;
export function rampFigures(
  file: string,
): Promise<{ width: number; height: number; figures: Record<string, number> }>;
