// SPDX-License-Identifier: Apache-2.0
// Collects the figures of a run from everything that counts: the pipeline, the source, the publisher, the meter.
import type { PairSource, SourceCounters } from "../../camera/index.js";
import { type MatchParameters, type NativeEngine, type Region, STAGE_NAMES } from "../../cuda/index.js";
import type { Meter, PowerFigures } from "../../power/index.js";
import type { GovernorLoop } from "../governor/index.js";
import type { Publisher } from "../outputs/mqtt/index.js";
import { megaDisparities } from "./parameters.js";
import { known, type PairingFigures, type RunFigures, type StageFigures } from "./figures.js";
import type { Pipeline } from "./pipeline.js";

export interface ReporterOptions {
  pipeline: Pipeline;
  source: PairSource;
  publisher: Publisher | undefined;
  meter: Meter;
  governor: GovernorLoop | undefined;
  engine: NativeEngine;
  match: MatchParameters;
  /** What is matched, where that is not the whole image. */
  region?: Region;
  width: number;
  height: number;
}

/** A cause of loss as one name: "source.left.corrupt", "engineBusy", "publish.backpressure". */
function collectDrops(pipeline: Pipeline, source: SourceCounters, publisher: Publisher | undefined) {
  const drops = pipeline.drops.snapshot();
  for (const [cause, count] of Object.entries(source.dropsLeft)) drops[`left.${cause}`] = count;
  for (const [cause, count] of Object.entries(source.dropsRight)) drops[`right.${cause}`] = count;
  for (const [stream, counters] of Object.entries(publisher?.counters().streams ?? {})) {
    for (const [cause, count] of Object.entries(counters.drops)) drops[`publish.${stream}.${cause}`] = count;
  }
  return drops;
}

function pairingFigures(counters: SourceCounters): PairingFigures {
  const noPair = "no pair has arrived yet";
  return {
    skewMsMean: known(counters.skewMsMean, noPair),
    skewMsP99: known(counters.skewMsP99, noPair),
    driftPpm: known(counters.driftPpm, "needs two free-running cameras and some seconds of frames"),
    unmatchedLeft: counters.dropsLeft.unmatched ?? 0,
    unmatchedRight: counters.dropsRight.unmatched ?? 0,
  };
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
    const { pipeline, source, publisher, engine, governor, match, width, height } = this.#options;
    const engineInfo = engine.info;
    const matched = this.#options.region ?? { width, height };
    const now = performance.now();
    const seconds = (now - this.#startedMs) / 1000;
    const stages: RunFigures["stages"] = {};
    for (const [index, name] of STAGE_NAMES.entries()) {
      const times = pipeline.stageTimes[index]?.percentiles();
      if (times !== undefined)
        stages[name] = rounded({ p50Ms: times.p50, p95Ms: times.p95, p99Ms: times.p99 });
    }
    const counters = source.counters();
    const published = publisher?.counters();
    const latency = pipeline.latency.percentiles();
    return {
      frames: pipeline.frames,
      seconds: round(seconds),
      fps: round(window === "run" ? pipeline.frames / seconds : pipeline.rate.perSecond(now)),
      backend: engineInfo.backend,
      backendReason: engineInfo.backendReason,
      instructionSet: engineInfo.instructionSet,
      algorithm: match.algorithm,
      width,
      height,
      validPercent: known(
        pipeline.frames > 0
          ? round((100 * pipeline.validPixels) / (pipeline.frames * matched.width * matched.height))
          : undefined,
        "no frame has been computed yet",
      ),
      stages,
      latencyMs: known(latency && rounded({ ...latency }), "no frame has left yet"),
      drops: collectDrops(pipeline, counters, publisher),
      pairing: pairingFigures(counters),
      power: this.#power(window),
      governor: governor?.figures ?? {
        available: false,
        reason: "neither power.budgetWatts nor power.minFps is set",
      },
      publish: published
        ? {
            connected: published.connected,
            reason: published.reason,
            messages: published.published,
            bytes: published.bytes,
          }
        : { available: false, reason: "publish.broker is none" },
    };
  }

  #power(window: "run" | "recent"): PowerFigures {
    const { meter, governor, width, height, match, region } = this.#options;
    // Once the governor has changed the number of disparities, one number no longer stands for the window.
    const changed = governor?.figures.available && governor.figures.changes > 0;
    const perFrame = changed ? undefined : megaDisparities(match, region ?? { width, height });
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
