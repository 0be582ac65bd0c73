// SPDX-License-Identifier: Apache-2.0
// Figures of the duty cycle in metrics and summaries.
import type { Unavailable } from "./availability.js";

/** waking: the cameras are being opened. settling: their first frames are discarded. */
export type DutyState = "waking" | "settling" | "awake" | "asleep";

/** `dutyCycle` in metrics and summaries. */
export type DutyCycleFigures =
  | {
      available: true;
      state: DutyState;
      /** Wakes since the start of the run, its start among them. */
      wakes: number;
      /** Frames computed in the duty cycle; discarded ones are not among them. */
      usefulFrames: number;
      asleepSeconds: number;
      /** All energy of the complete cycles, sleep included, over their useful frames. */
      joulesPerUsefulFrame: number | Unavailable;
    }
  | Unavailable;
