// SPDX-License-Identifier: Apache-2.0
// Times a matcher on one pair of the synthetic scene that stays in memory: the engine's own work, no camera, no publishing.
import { greyPairLayout, SceneRenderer } from "../../../camera/index.js";
import { quantile } from "../../../core/index.js";
import {
  type Algorithm,
  createEngine,
  type EngineInfo,
  matcherParameters,
  type NativeEngine,
  type ParameterValue,
  STAGE_NAMES,
  type StageName,
} from "../../../cuda/index.js";
import type { ContextSnapshot, Unavailable } from "../../../power/index.js";
import { type Config, changedSettings } from "../../config/index.js";
import { loadNative } from "../../contracts/native.js";
import { engineOptionsFrom } from "../../pipeline/engine-options.js";
import { uncalibrated } from "../../pipeline/geometry.js";
import { matchParameters, megaDisparities, regionParameters } from "../../pipeline/parameters.js";
import { openMeter } from "../../power/open-meter.js";
import { expectToRun } from "../../profile/repeated-stage.js";
import { compareWithOpencv, type PeerFigures } from "./compare.js";
import { type OpencvPeer, openOpencvPeer } from "./opencv-peer.js";

/** First frames, which fill caches and wake the threads. */
const WARM_UP_FRAMES = 3;
/** Where no number of frames is asked for: clocks settle, then a window that a power sensor can fill. */
const WARM_UP_SECONDS = 0.3;
const WINDOW_SECONDS = 2;
const MIN_FRAMES = 20;
/** Next to a peer: rounds, and seconds of each participant in one. */
const PEER_ROUNDS = 5;
const PEER_SECONDS = 0.4;
/** Settings that change the result, or the device that computes it. */
const COMPUTED = /^(match|refine|rectify|region|depth|engine)\./;
/** A frame of the scene in which the moving object is near. */
const SCENE_FRAME = 40;

export interface BenchOptions {
  config: Config;
  width: number;
  height: number;
  /** Timed frames; undefined: as many as two seconds hold, at least 20, after 0.3 s of warming up. */
  frames?: number | undefined;
  /** OpenCV computes the same pair, in turn with the engine. */
  peer?: "opencv" | undefined;
  /** Runs more than once in every frame, to find what it costs. */
  repeatStage?: { stage: StageName; times: number };
  /** Called before each step: none is reported while frames are timed. */
  onStep?: (done: number, total: number, step: string) => void;
}

export interface BenchFigures {
  width: number;
  height: number;
  numDisparities: number;
  algorithm: Algorithm;
  search: EngineInfo["search"];
  halfResolution: boolean;
  /** All parameters of the matcher. */
  parameters: Record<string, ParameterValue>;
  frames: number;
  /** Milliseconds from submission to result. */
  medianMs: number;
  p95Ms: number;
  minMs: number;
  /** Frames a second of the median. */
  fps: number;
  /** Evaluated disparities / 1e6 per second, of the median: width x height x disparities, at half resolution half of each. */
  megaDisparitiesPerSecond: number;
  backend: string;
  instructionSet: string;
  threads: number;
  /** Memory of the whole process, Node included. */
  peakResidentMb: number;
  /** How long the timed frames took together. */
  windowSeconds: number;
  /** Scope of the power sensor, such as the GPU board alone; null: nothing was measured. */
  measured: { sensor: string; what: string } | null;
  watts: number | Unavailable;
  /** Idle power included, and without it. */
  joulesPerFrame: number | Unavailable;
  joulesPerFrameNet: number | Unavailable;
  fpsPerWatt: number | Unavailable;
  /** Settings of matching and of the engine that are not the defaults, by dotted key. */
  /** Power mode, clocks and whether they are locked, temperatures; null without a sensor. */
  conditions: ContextSnapshot | Unavailable | null;
  changedSettings: Record<string, unknown>;
  /** Empty: none was asked for. */
  peers: PeerFigures[];
  /** Null: none. */
  repeatedStage: { stage: StageName; times: number } | null;
  /** Median milliseconds of each stage that ran; of a repeated stage, of all its runs in a frame together. */
  stages: Partial<Record<StageName, number>>;
}

function openEngine({ config, width, height, repeatStage }: BenchOptions): NativeEngine {
  const description = greyPairLayout(width, height);
  const repeated = repeatStage && { repeatStage };
  return createEngine(engineOptionsFrom(config, { description }, uncalibrated(width, height), repeated));
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
 *   forced instruction set that is not there, PEER_UNAVAILABLE for a peer
 */
export async function timeMatcher(options: BenchOptions): Promise<BenchFigures> {
  const { config, width, height, frames: asked } = options;
  const match = matchParameters(config.match);
  const { algorithm, numDisparities, halfResolution } = match;
  const { left, right } = await scenePair(width, height);
  const engine = openEngine(options);
  const meter = openMeter({ ...config.power, native: loadNative() });
  let peer: OpencvPeer | undefined;
  try {
    const { backend, instructionSet, threads, search } = engine.info;
    if (options.peer !== undefined)
      peer = await openOpencvPeer({ width, height, numDisparities, threads, left, right });
    const computeFrame = async () => {
      const started = performance.now();
      await engine.compute(left, right);
      return performance.now() - started;
    };
    const steps = 2 + (peer === undefined ? 0 : PEER_ROUNDS);
    const onStep = (done: number, step: string) => options.onStep?.(done, steps, step);
    onStep(0, "measuring idle power");
    if (asked === undefined) await meter.measureIdle(WINDOW_SECONDS);
    onStep(1, "timing frames");
    const stageTimes = STAGE_NAMES.map((): number[] => []);
    const warmUpMs = asked === undefined ? 1000 * WARM_UP_SECONDS : 0;
    const warmedUp = performance.now() + warmUpMs;
    for (let n = 0; n < WARM_UP_FRAMES || performance.now() < warmedUp; ++n) await computeFrame();
    expectToRun(engine, options.repeatStage, "--repeat-stage");
    meter.start();
    const times: number[] = [];
    const begun = performance.now();
    const enough = () =>
      asked === undefined
        ? times.length >= MIN_FRAMES && performance.now() - begun >= 1000 * WINDOW_SECONDS
        : times.length >= asked;
    while (!enough()) {
      const capturedNs = process.hrtime.bigint();
      times.push(await computeFrame());
      meter.frame(capturedNs);
      for (const [stage, list] of stageTimes.entries()) list.push(engine.stageMilliseconds[stage] as number);
    }
    const windowSeconds = (performance.now() - begun) / 1000;
    const { region } = regionParameters(config.region, { width, height });
    const perFrame = megaDisparities(match, region ?? { width, height });
    const power = meter.sinceStart(perFrame);
    const reported = <K extends "watts" | "joulesPerFrame" | "joulesPerFrameNet" | "fpsPerWatt">(key: K) =>
      power.available ? power[key] : { available: false as const, reason: power.reason };
    const medianMs = quantile(times, 0.5);
    const stageMedians = STAGE_NAMES.map((name, stage) => [name, quantile(stageTimes[stage]!, 0.5)] as const);
    const onRound = (round: number) => onStep(2 + round, "timing OpenCV in turn");
    const rounds = { rounds: PEER_ROUNDS, seconds: PEER_SECONDS, onRound };
    return {
      width,
      height,
      numDisparities,
      algorithm,
      search,
      halfResolution,
      frames: times.length,
      medianMs,
      parameters: matcherParameters(match),
      p95Ms: quantile(times, 0.95),
      minMs: quantile(times, 0),
      fps: 1000 / medianMs,
      megaDisparitiesPerSecond: (1000 * perFrame) / medianMs,
      backend,
      instructionSet,
      threads,
      peakResidentMb: process.resourceUsage().maxRSS / 1024,
      windowSeconds,
      measured: power.available ? { sensor: power.sensor, what: power.reason } : null,
      watts: reported("watts"),
      joulesPerFrame: reported("joulesPerFrame"),
      joulesPerFrameNet: reported("joulesPerFrameNet"),
      fpsPerWatt: reported("fpsPerWatt"),
      conditions: power.available ? power.context : null,
      changedSettings: changedSettings(config, COMPUTED),
      repeatedStage: options.repeatStage ?? null,
      stages: Object.fromEntries(stageMedians.filter(([, milliseconds]) => !Number.isNaN(milliseconds))),
      peers: peer === undefined ? [] : await compareWithOpencv(computeFrame, peer, rounds),
    };
  } finally {
    peer?.close();
    meter.close();
    engine.close();
  }
}
