// SPDX-License-Identifier: Apache-2.0
// What a governor says of itself.
import type { Unavailable } from "../../power/index.js";

/** `governor` in metrics and summaries. */
export type GovernorFigures =
  | {
      available: true;
      /** Position in the ladder, 0 is the best. */
      level: number;
      levels: number;
      name: string;
      budgetWatts: number | null;
      minFps: number | null;
      /** What it did or does, and why. */
      reason: string;
      changes: number;
    }
  | Unavailable;
