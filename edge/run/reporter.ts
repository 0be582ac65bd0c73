// SPDX-License-Identifier: Apache-2.0
// Collects the figures of a run from everything that counts: the pipeline, the source, the outputs, the meter.
import type { PairSource, SourceCounters } from "../../camera/index.js";
import { type EngineOptions, type NativeEngine, perCause, STAGE_NAMES } from "../../cuda/index.js";
import type { PowerFigures } from "../../power/index.js";
import { orUnavailable } from "../contracts/availability.js";
import type { BucketCountsSnapshot } from "../contracts/bucket-counts.js";
import type { DutyCycleFigures } from "../contracts/duty-cycle.js";
import type { RunTotals, StageFigures } from "../contracts/totals.js";
import type { DutyCycle } from "../duty/index.js";
import type { RunGovernor } from "../governor/index.js";
import type { MatchWatch } from "../match/match-watch.js";
import type { Outputs } from "../outputs/outputs.js";
import { adaptationFigures } from "../pipeline/adaptation.js";
import { megaDisparities } from "../pipeline/parameters.js";
import type { Pipeline } from "../pipeline/pipeline.js";
import type { RunMeter } from "../power/run-meter.js";
import type { HealthFigures } from "../rig/health/watch.js";
import type { PairingFigures, RunFigures } from "./figures.js";

export interface ReporterOptions {
  pipeline: Pipeline;
  source: PairSource;
  outputs: Outputs;
  meter: Pick<RunMeter, "sinceStart" | "recent">;
  engine: NativeEngine;
  /** Undefined where neither a budget nor a frame rate is asked for. */
  governor: () => RunGovernor | undefined;
  duty: Pick<DutyCycle, "figures">;
  health: () => HealthFigures;
  matching: Pick<MatchWatch, "atRangeEndPercent">;
  /** Returns the engine's current options. */
  options: () => EngineOptions;
  /**
   * Returns whether a setting of match or region, or the governor's quality step, has changed since the start. Frames
   * of the run then differ in work, and disparities per second and per joule are left out.
   */
  searchChanged: () => boolean;
}

/** A cause of loss as one name: "left.corrupt", "engineBusy", "mqtt.depth.backpressure". */
function collectDrops(pipeline: Pipeline, source: SourceCounters, outputs: Record<string, number>) {
  const drops = pipeline.drops.snapshot();
  for (const [cause, count] of Object.entries(source.dropsLeft)) drops[`left.${cause}`] = count;
  for (const [cause, count] of Object.entries(source.dropsRight)) drops[`right.${cause}`] = count;
  for (const [cause, count] of Object.entries(source.other?.drops ?? {})) drops[`other.${cause}`] = count;
  return { ...drops, ...outputs };
}

function pairingFigures(counters: SourceCounters, skew: BucketCountsSnapshot): PairingFigures {
  const noPair = "no pair has arrived yet";
  const { buckets, cumulative, count } = skew;
  return {
    skewMsMean: orUnavailable(counters.skewMsMean, noPair),
    skewMsP99: orUnavailable(counters.skewMsP99, noPair),
    skewMsHistogram: { upToMs: buckets.bounds, pairs: cumulative, allPairs: count },
    driftPpm: orUnavailable(counters.driftPpm, "needs two free-running cameras and some seconds of frames"),
    unmatchedLeft: counters.dropsLeft.unmatched ?? 0,
    unmatchedRight: counters.dropsRight.unmatched ?? 0,
    other: otherFigures(counters.other),
  };
}

function otherFigures(other: SourceCounters["other"]): PairingFigures["other"] {
  if (other === undefined) return { available: false, reason: "the source has no further camera" };
  const { pairs, missed, offsetNs, problem = null } = other;
  return { pairs, missed, offsetNs: orUnavailable(offsetNs, "no pair has had its image yet"), problem };
}

export class Reporter {
  readonly #options: ReporterOptions;
  #startedMs = performance.now();

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** The run begins now: rates count from here. */
  begin(): void {
    this.#startedMs = performance.now();
  }

  /** @param window "run": rates and energy since the start; "recent": of the last seconds. */
  figures(window: "run" | "recent"): RunFigures {
    const { pipeline, source, engine } = this.#options;
    const { match, width, height } = this.#options.options();
    const engineInfo = engine.info;
    const now = performance.now();
    const seconds = (now - this.#startedMs) / 1000;
    const stages: RunFigures["stages"] = {};
    for (const [index, name] of STAGE_NAMES.entries()) {
      const times = pipeline.stageTimes[index]?.percentiles(window);
      if (times !== undefined)
        stages[name] = rounded({ p50Ms: times.p50, p95Ms: times.p95, p99Ms: times.p99 });
    }
    const counters = source.counters();
    const accounts = this.#accounts(window);
    const share = (pixels: number) =>
      orUnavailable(
        pipeline.frames > 0 ? round((100 * pixels) / pipeline.askedPixels) : undefined,
        "no frame has been computed yet",
      );
    return {
      frames: pipeline.frames,
      seconds: round(seconds),
      fps: round(window === "run" ? pipeline.frames / seconds : pipeline.rate.perSecond(now)),
      backend: engineInfo.backend,
      backendReason: engineInfo.backendReason,
      instructionSet: engineInfo.instructionSet,
      algorithm: match.algorithm,
      search: engineInfo.search,
      width,
      height,
      validPercent: share(pipeline.validPixels),
      matchedPercent: share(pipeline.matchedPixels),
      atRangeEndPercent: this.#options.matching.atRangeEndPercent,
      droppedPercent: this.#droppedPercent(),
      ...adaptationFigures(engineInfo),
      health: this.#options.health(),
      stages,
      latencyMs: accounts.latencyMs,
      drops: accounts.drops,
      pairing: pairingFigures(counters, pipeline.skew.snapshot()),
      power: this.#power(window),
      governor: this.#options.governor()?.figures ?? {
        available: false,
        reason: "neither power.budgetWatts nor power.minFps is set",
      },
      dutyCycle: this.#dutyCycle(),
      outputs: accounts.outputs,
    };
  }

  /** Counts and energy since the start; far cheaper than figures(). */
  totals(): RunTotals {
    const { pipeline, source, outputs } = this.#options;
    const stages: RunTotals["stages"] = {};
    for (const [index, name] of STAGE_NAMES.entries()) {
      const times = pipeline.stageTimes[index];
      if (times !== undefined && times.count > 0) stages[name] = times.counts();
    }
    const { outputs: byOutput, drops } = outputs.totals();
    const { askedPixels: asked, validPixels: valid, matchedPixels: matched, droppedPixels } = pipeline;
    return {
      frames: pipeline.frames,
      pixels: { asked, valid, matched },
      droppedPixels: { ...droppedPixels },
      stages,
      latency: pipeline.latency.counts(),
      frameEnergy: pipeline.energy.snapshot(),
      skew: pipeline.skew.snapshot(),
      outputs: byOutput,
      drops: collectDrops(pipeline, source.counters(), drops),
      power: this.#power("run"),
      dutyCycle: this.#dutyCycle(),
    };
  }

  #dutyCycle(): DutyCycleFigures {
    const { figures } = this.#options.duty;
    return figures.available ? { ...figures, asleepSeconds: round(figures.asleepSeconds) } : figures;
  }

  #droppedPercent(): RunFigures["droppedPercent"] {
    const { frames, askedPixels, droppedPixels } = this.#options.pipeline;
    if (frames === 0) return { available: false, reason: "no frame has been computed yet" };
    return perCause((cause) => round((100 * droppedPixels[cause]) / askedPixels));
  }

  /** Accounts for all frames: changes until the outputs are closed. */
  #accounts(window: "run" | "recent"): Pick<RunFigures, "latencyMs" | "drops" | "outputs"> {
    const { pipeline, source, outputs } = this.#options;
    const { outputs: byOutput, drops } = outputs.figures(window);
    const sent = outputs.latency(window);
    const latency = sent === "none" ? pipeline.latency.percentiles(window) : sent;
    return {
      latencyMs: orUnavailable(latency && rounded({ ...latency }), "no frame has left yet"),
      drops: collectDrops(pipeline, source.counters(), drops),
      outputs: byOutput,
    };
  }

  /** The figures of a run that is over, with what has become of its last frames since. */
  settled(figures: RunFigures): RunFigures {
    return { ...figures, ...this.#accounts("run") };
  }

  #power(window: "run" | "recent"): PowerFigures {
    const { meter, searchChanged } = this.#options;
    const { match, region, width, height } = this.#options.options();
    const perFrame = searchChanged() ? undefined : megaDisparities(match, region ?? { width, height });
    return window === "run" ? meter.sinceStart(perFrame) : meter.recent(5, perFrame);
  }
}

/** Three decimals: below that the figures are noise. */
const round = (value: number): number => Math.round(value * 1000) / 1000;

function rounded<T extends StageFigures | { p50: number; p95: number; p99: number }>(figures: T): T {
  for (const key of Object.keys(figures) as (keyof T)[])
    figures[key] = round(figures[key] as number) as T[keyof T];
  return figures;
}
