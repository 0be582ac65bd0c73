// SPDX-License-Identifier: Apache-2.0
// Times a matcher on one pair of the synthetic scene that stays in memory: the engine's own work, no camera, no publishing.
import { greyPairLayout, SceneRenderer } from "../../camera/index.js";
import {
  type Algorithm,
  createEngine,
  type NativeEngine,
  parametersOf,
  type ParameterValue,
  STAGE_NAMES,
  type StageName,
} from "../../cuda/index.js";
import { loadNative } from "../native.js";
import type { Unavailable } from "../../power/index.js";
import type { Config } from "../config/index.js";
import { engineOptionsOf } from "../pipeline/engine-options.js";
import { uncalibrated } from "../pipeline/geometry.js";
import { matchParameters, megaDisparities, regionParameters } from "../pipeline/parameters.js";
import { openMeter } from "../power/open-meter.js";
import { expectToRun } from "../profile/repeated-stage.js";

/** First frames, which fill caches and wake the threads. */
const WARM_UP_FRAMES = 3;
/** A frame of the scene in which the moving object is near. */
const SCENE_FRAME = 40;

export interface BenchOptions {
  config: Config;
  width: number;
  height: number;
  frames: number;
  /** Runs more than once in every frame, to find what it costs. */
  repeatStage?: { stage: StageName; times: number };
}

export interface BenchFigures {
  width: number;
  height: number;
  numDisparities: number;
  algorithm: Algorithm;
  halfResolution: boolean;
  /** Of the matcher, every one. */
  parameters: Record<string, ParameterValue>;
  frames: number;
  /** Milliseconds from submission to result. */
  medianMs: number;
  p95Ms: number;
  minMs: number;
  /** Of the median. */
  fps: number;
  /** Evaluated disparities / 1e6 per second, of the median: width x height x disparities, at half resolution half of each. */
  megaDisparitiesPerSecond: number;
  backend: string;
  instructionSet: string;
  threads: number;
  /** Of the whole process, Node included. */
  peakResidentMb: number;
  watts: number | Unavailable;
  fpsPerWatt: number | Unavailable;
  /** Null: none. */
  repeatedStage: { stage: StageName; times: number } | null;
  /** Median milliseconds of each stage that ran; of a repeated stage, of all its runs in a frame together. */
  stages: Partial<Record<StageName, number>>;
}

/** The value below which `share` of the sorted values lie. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
}

const ascending = (values: Iterable<number>) => [...values].sort((a, b) => a - b);

function openEngine({ config, width, height, repeatStage }: BenchOptions): NativeEngine {
  const description = greyPairLayout(width, height);
  const alone = repeatStage === undefined ? {} : { repeatStage };
  return createEngine(engineOptionsOf(config, { description }, uncalibrated(width, height), alone));
}

async function scenePair(width: number, height: number) {
  const scene = new SceneRenderer(loadNative(), { width, height, view: "rectified" });
  try {
    const { left, right } = await scene.frame(SCENE_FRAME);
    return { left: left.data as Uint8Array, right: right.data as Uint8Array };
  } finally {
    scene.close();
  }
}

/**
 * @throws DepthwattError USAGE for a repeated stage that does not run, ENGINE_PARAMETER for a size or parameter outside its range, BACKEND_UNAVAILABLE for a backend or a
 *   forced instruction set that is not there
 */
export async function timeMatcher(options: BenchOptions): Promise<BenchFigures> {
  const { config, width, height, frames } = options;
  const match = matchParameters(config.match);
  const { algorithm, numDisparities, halfResolution } = match;
  const { left, right } = await scenePair(width, height);
  const engine = openEngine(options);
  const meter = openMeter({ ...config.power, native: loadNative() });
  try {
    const stageTimes = STAGE_NAMES.map((): number[] => []);
    for (let frame = 0; frame < WARM_UP_FRAMES; ++frame) await engine.compute(left, right);
    expectToRun(engine, options.repeatStage, "--repeat-stage");
    meter.start();
    const times: number[] = [];
    for (let frame = 0; frame < frames; ++frame) {
      const capturedNs = process.hrtime.bigint();
      const started = performance.now();
      await engine.compute(left, right);
      times.push(performance.now() - started);
      meter.frame(capturedNs);
      for (const [stage, list] of stageTimes.entries()) list.push(engine.stageMilliseconds[stage] as number);
    }
    const { region } = regionParameters(config.region, { width, height });
    const perFrame = megaDisparities(match, region ?? { width, height });
    const power = meter.sinceStart(perFrame);
    const sorted = ascending(times);
    const medianMs = quantile(sorted, 0.5);
    const { backend, instructionSet, threads } = engine.info;
    const stageMedians = STAGE_NAMES.map(
      (name, stage) => [name, quantile(ascending(stageTimes[stage]!), 0.5)] as const,
    );
    return {
      width,
      height,
      numDisparities,
      algorithm,
      halfResolution,
      frames,
      medianMs,
      parameters: parametersOf(match),
      p95Ms: quantile(sorted, 0.95),
      minMs: sorted[0] as number,
      fps: 1000 / medianMs,
      megaDisparitiesPerSecond: (1000 * perFrame) / medianMs,
      backend,
      instructionSet,
      threads,
      peakResidentMb: process.resourceUsage().maxRSS / 1024,
      watts: power.available ? power.watts : { available: false, reason: power.reason },
      fpsPerWatt: power.available ? power.fpsPerWatt : { available: false, reason: power.reason },
      repeatedStage: options.repeatStage ?? null,
      stages: Object.fromEntries(stageMedians.filter(([, milliseconds]) => !Number.isNaN(milliseconds))),
    };
  } finally {
    meter.close();
    engine.close();
  }
}
