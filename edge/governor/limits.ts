// SPDX-License-Identifier: Apache-2.0
// Defines the governor's targets, observations and decisions, and its times and margins.
import type { Figure } from "../../power/index.js";

export interface GovernorGoal {
  budgetWatts?: number | undefined;
  minFps?: number | undefined;
}

/** Measurements since the last observation, about a second ago. */
export interface Observation {
  /** Any clock that only goes forward. */
  nowMs: number;
  /** Mean power since the last observation. */
  watts: Figure;
  fps: number;
  /** Frames per second that could be computed: the inverse of a frame's time in the engine. */
  capacityFps: number | undefined;
  /** A throttle or over-current counter has risen. */
  throttled: boolean;
}

export interface Decision {
  level: number;
  changed: boolean;
  /** The action and its reason, one sentence. */
  reason: string;
}

/** Times and margins; the bounds in docs/guides/governor.md follow from them. */
export const GOVERNOR_LIMITS = {
  /** Observations after a change that still belong to both levels. */
  settleMs: 1500,
  /** Observations over the budget before the first step down; one is enough when far over. */
  confirm: 3,
  farOver: 1.15,
  /** Share of the budget that a predicted level must leave free. */
  marginShare: 0.03,
  /** Share that must be free before an unknown level is tried. */
  unknownShare: 0.12,
  /** Time at a level before going up, doubled after each try that failed. */
  dwellMs: 10_000,
  longestDwellMs: 1_800_000,
  /** A step up that is taken back within this time has failed; heat takes minutes to show that it was one too many. */
  probationMs: 600_000,
  /** The same after the machine throttled itself at a level. */
  throttleDwellMs: 60_000,
  /** Largest share of the budget that warming up may be held against a level, and how fast that is forgotten. */
  creepShare: 0.05,
  creepHalvesMs: 600_000,
  /** Time without a reading before nothing is risked any more. */
  blindMs: 5_000,
} as const;
