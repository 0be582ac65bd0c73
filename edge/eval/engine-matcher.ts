// SPDX-License-Identifier: Apache-2.0
// Matches one scene at a time with the engine, configured as `depthwatt run` would configure it.
import { greyPairLayout, rgbPairLayout } from "../../camera/index.js";
import { median } from "../../core/index.js";
import { type EngineOptions, type NativeEngine, STAGE_NAMES, type StageName } from "../../cuda/index.js";
import type { Config } from "../config/index.js";
import { Helper } from "../match/helper.js";
import { engineOptionsFrom } from "../pipeline/engine-options.js";
import { uncalibrated } from "../pipeline/geometry.js";
import type { Scene } from "./dataset.js";
import type { Matched } from "./evaluate.js";

const SMALLEST_SEARCH = 8;

export interface EngineMatcherOptions {
  config: Config;
  /** False: each scene's own number of disparities replaces match.numDisparities. */
  fixedNumDisparities: boolean;
  /** Timed frames per scene; the time is their median. One more runs first and is not timed. */
  frames: number;
  createEngine: (options: EngineOptions) => NativeEngine;
}

/** The engine's options for one pair of rectified images of this size. */
export function engineOptionsFor(
  config: Config,
  width: number,
  height: number,
  numDisparities: number,
  format: "GREY" | "RGB8" = "GREY",
  description = format === "RGB8" ? rgbPairLayout(width, height) : greyPairLayout(width, height),
): EngineOptions {
  const searched = { ...config, match: { ...config.match, numDisparities } };
  return engineOptionsFrom(searched, { description }, uncalibrated(width, height));
}

export interface EngineMatched extends Matched {
  /** Backend that computed the frames. */
  backend: string;
  /** Milliseconds of each stage that ran, median of the timed frames. */
  stages: Partial<Record<StageName, number>>;
}

/** CUDA times the stages of one in so many frames at least. */
const STAGES_TIMED_WITHIN = 64;

const isEmpty = (list: readonly number[]) => list.length === 0;

/** Adds the times of a frame's stages; NaN is a stage that was not timed. */
function keepStageTimes(milliseconds: Float64Array, stageTimes: number[][]): void {
  for (const [stage, list] of stageTimes.entries())
    if (!Number.isNaN(milliseconds[stage])) list.push(milliseconds[stage]!);
}

/** Computes the helper's next pair: its matching and the refinement here. */
async function computeNext(engine: NativeEngine, helper: Helper): Promise<void> {
  const pair = await helper.next();
  await engine.compute(pair.left.data, pair.right.data).finally(() => pair.release());
}

/** A matcher that opens an engine per scene, so that each has its own size, and closes it again. */
export function engineMatcher(options: EngineMatcherOptions): (scene: Scene) => Promise<EngineMatched> {
  return async (scene) => {
    const { config, fixedNumDisparities, frames } = options;
    const numDisparities = fixedNumDisparities
      ? config.match.numDisparities
      : Math.max(SMALLEST_SEARCH, scene.numDisparities);
    const { width, height, format } = scene;
    const isForeign = config.source.kind === "foreign";
    const helper = isForeign
      ? await Helper.open(config.source.foreign, { ...scene, numDisparities })
      : undefined;
    let engine: NativeEngine | undefined;
    try {
      const images = helper?.source.description;
      engine = options.createEngine(engineOptionsFor(config, width, height, numDisparities, format, images));
      const times: number[] = [];
      const stageTimes = STAGE_NAMES.map((): number[] => []);
      const compute = () =>
        helper ? computeNext(engine!, helper) : engine!.compute(scene.left, scene.right);
      for (let frame = 0; frame <= frames; ++frame) {
        const started = performance.now();
        await compute();
        if (frame === 0) continue;
        times.push(performance.now() - started);
        keepStageTimes(engine.stageMilliseconds, stageTimes);
      }
      // CUDA times the stages of few frames only.
      for (let more = 0; frames > 0 && more < STAGES_TIMED_WITHIN && stageTimes.every(isEmpty); ++more) {
        await compute();
        keepStageTimes(engine.stageMilliseconds, stageTimes);
      }
      const medians = STAGE_NAMES.map((name, stage) => [name, median(stageTimes[stage]!)] as const);
      const disparityQ4 = engine.slots[0]!.disparityQ4.slice();
      const confidence = engine.slots[0]!.confidence.slice();
      return {
        disparityQ4,
        confidence,
        milliseconds: median(times),
        numDisparities,
        backend: engine.info.backend,
        stages: Object.fromEntries(medians.filter(([, milliseconds]) => !Number.isNaN(milliseconds))),
      };
    } finally {
      engine?.close();
      await helper?.close();
    }
  };
}
