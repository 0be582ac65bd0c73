// SPDX-License-Identifier: Apache-2.0
// The state that a governor reports.
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
      /** The last action and its reason. */
      reason: string;
      changes: number;
      /** Limits that the kernel shows, null without one; unavailable: the governor limits no clock. */
      clocks: { gpuMegahertz: number | null; emcMegahertz: number | null } | Unavailable;
    }
  | Unavailable;
