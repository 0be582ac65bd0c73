// SPDX-License-Identifier: Apache-2.0
// The one shape of `run --json` and of the metrics topic. What cannot be known is {available: false, reason}.
import type { Algorithm, DroppedPixels, EngineInfo, StageName } from "../../cuda/index.js";
import type { PowerFigures, Unavailable } from "../../power/index.js";
import type { DutyCycleFigures } from "../contracts/duty-cycle.js";
import type { StageFigures } from "../contracts/totals.js";
import type { GovernorFigures } from "../governor/figures.js";
import type { OutputFigures } from "../outputs/outputs.js";
import type { AdaptationFigures } from "../pipeline/adaptation.js";
import type { HealthFigures } from "../rig/health/watch.js";

export interface OtherFigures {
  pairs: number;
  /** Pairs without its image, by cause. */
  missed: Record<string, number>;
  /** Capture time of its image minus the left image's, nanoseconds. */
  offsetNs: number | Unavailable;
  /** Why it delivers no images, with a code; null: it does. */
  problem: { code: string; reason: string } | null;
}

export interface PairingFigures {
  skewMsMean: number | Unavailable;
  skewMsP99: number | Unavailable;
  /** For each limit, how many pairs had a skew of at most so many milliseconds. */
  skewMsHistogram: { upToMs: readonly number[]; pairs: readonly number[]; allPairs: number };
  driftPpm: number | Unavailable;
  unmatchedLeft: number;
  unmatchedRight: number;
  /** The further camera next to the pair: pairs with and without its image, and the time difference of the newest. */
  other: OtherFigures | Unavailable;
}

export interface RunFigures {
  /** Frames computed since the start. */
  frames: number;
  seconds: number;
  /** Over the whole run in a summary, over the newest two seconds in metrics. */
  fps: number;
  backend: EngineInfo["backend"];
  backendReason: string;
  instructionSet: EngineInfo["instructionSet"];
  algorithm: Algorithm;
  /** The search in use, and why. */
  search: EngineInfo["search"];
  width: number;
  height: number;
  /** Pixels with a disparity, filled ones among them; pixels whose disparity was found by matching. */
  validPercent: number | Unavailable;
  matchedPercent: number | Unavailable;
  /** Matched pixels whose disparity is one of the last two of the search range, in the newest sample. */
  atRangeEndPercent: number | Unavailable;
  /** Pixels that refine.minConfidence, depth.minMetres and depth.maxMetres dropped, by cause. */
  droppedPercent: DroppedPixels | Unavailable;
  /** The vertical offset of the images and their noise, and the corrections. */
  verticalOffset: AdaptationFigures["verticalOffset"];
  noise: AdaptationFigures["noise"];
  /** Compares the cameras with their calibration. */
  health: HealthFigures;
  stages: Partial<Record<StageName, StageFigures>>;
  /**
   * For the first output that takes frames: from capture to the moment it was sent; without one, to the end of the
   * computation.
   */
  latencyMs: { p50: number; p95: number; p99: number } | Unavailable;
  /** Images and pairs that did not become a frame, by cause, and frames that an output did not send, under its name. */
  drops: Record<string, number>;
  pairing: PairingFigures;
  power: PowerFigures;
  governor: GovernorFigures;
  /** power.dutyCycle: its state, and joules per useful frame. */
  dutyCycle: DutyCycleFigures;
  /** By kind; those that are switched off say why. */
  outputs: Record<string, OutputFigures | Unavailable>;
}
