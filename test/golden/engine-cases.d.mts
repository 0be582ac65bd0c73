// SPDX-License-Identifier: Apache-2.0
// The types of engine-cases.mjs.
import type { createEngine, EngineOptions, EngineSlot, FrameResult } from "../../cuda/index.js";

export interface EngineCase {
  options: Omit<EngineOptions, "backend">;
  pair: { left: Uint8Array; right: Uint8Array };
}

export const engineCases: Record<string, EngineCase>;

/** Maps of rectify.h that move pixels by fractions, and some of them out of the image. */
export function bentMap(width: number, height: number): Int32Array;

export function computeHash(
  open: typeof createEngine,
  engineCase: EngineCase,
  changes: Partial<EngineOptions> & Pick<EngineOptions, "backend">,
): Promise<string>;

/** FNV-1a over everything a slot holds of a frame but its colours. */
export function hashOf(slot: EngineSlot, result: FrameResult): string;
