// SPDX-License-Identifier: Apache-2.0
// The parts of a run, as main.ts opens them.
import type { BoardChoice } from "../config/index.js";
import type { Snapshots } from "../control/snapshot.js";
import type { DutyCycle } from "../duty/index.js";
import type { RateGate } from "../governor/index.js";
import type { GpuRetry } from "../gpu/index.js";
import type { MatchWatch } from "../match/match-watch.js";
import type { Outputs } from "../outputs/outputs.js";
import type { AdjustableEngine } from "../pipeline/adjustable-engine.js";
import type { Pipeline } from "../pipeline/pipeline.js";
import type { EnergyLog } from "../power/energy-log.js";
import type { RunMeter } from "../power/run-meter.js";
import type { RigWatch } from "../rig/health/index.js";
import type { LiveInput } from "./live-input.js";
import type { Reporter } from "./reporter.js";
import type { SharedParts } from "./shared-parts.js";

export interface RuntimeParts {
  board: BoardChoice;
  /** Where the pipeline takes pairs from: those of the source of `input` that the duty cycle and the governor let through. */
  source: RateGate;
  input: LiveInput;
  duty: DutyCycle;
  engine: AdjustableEngine;
  gpu: GpuRetry;
  meter: RunMeter;
  energyLog: Pick<EnergyLog, "begin" | "end">;
  health: RigWatch;
  matching: MatchWatch;
  pipeline: Pipeline;
  outputs: Outputs;
  /** close() rejects the requests that still wait for a frame. */
  snapshots: Snapshots;
  reporter: Reporter;
  /** Undefined: this run has the board for itself. */
  shared?: SharedParts | undefined;
}
