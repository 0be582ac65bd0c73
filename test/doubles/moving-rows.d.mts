// SPDX-License-Identifier: Apache-2.0
// The types of moving-rows.mjs.
import type { createEngine } from "../../cuda/index.js";

export function framesOfMovingRows(
  open: typeof createEngine,
  backend: "cpu" | "cuda",
): Promise<{ hashes: string[]; appliedRows: number[] }>;
