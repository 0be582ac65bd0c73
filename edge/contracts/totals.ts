// SPDX-License-Identifier: Apache-2.0
// Counts since the start of a run: numbers that only grow, from which a reader computes rates.
import type { DroppedPixels, StageName } from "../../cuda/index.js";
import type { PowerFigures } from "../../power/index.js";
import type { BucketCountsSnapshot } from "./bucket-counts.js";
import type { DutyCycleFigures } from "./duty-cycle.js";

/** Times of a stage, milliseconds. */
export interface StageFigures {
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
}

export interface OutputTotals {
  sent: number;
  bytes: number;
  /** The current problem; undefined: none. */
  problem: string | undefined;
  /** From capture to the moment when the frame had left this process. */
  latency: BucketCountsSnapshot;
}

export interface RunTotals {
  frames: number;
  /** Pixels that were asked for; those with a disparity, filled ones among them; those found by matching. */
  pixels: { asked: number; valid: number; matched: number };
  /** Pixels that refine.minConfidence, depth.minMetres and depth.maxMetres dropped, by cause. */
  droppedPixels: DroppedPixels;
  /** Every stage that has run. */
  stages: Partial<Record<StageName, BucketCountsSnapshot>>;
  /** From capture to the end of the computation. */
  latency: BucketCountsSnapshot;
  /** Joules that the frames carried. */
  frameEnergy: BucketCountsSnapshot;
  /** Milliseconds between the two images of the pairs. */
  skew: BucketCountsSnapshot;
  /** By kind, those that are open. */
  outputs: Record<string, OutputTotals>;
  /** As in RunFigures. */
  drops: Record<string, number>;
  /** Since the start. */
  power: PowerFigures;
  dutyCycle: DutyCycleFigures;
}
