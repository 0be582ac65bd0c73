// SPDX-License-Identifier: Apache-2.0
// One point: the engine on pictures in memory, at a rate or as fast as it can, with the meter running next to it.
import { setTimeout as sleep } from "node:timers/promises";
import { greyPairLayout } from "../../../camera/index.js";
import { createEngine, type NativeEngine, STAGE_NAMES } from "../../../cuda/index.js";
import type { ContextSnapshot, Figure, Meter } from "../../../power/index.js";
import { type Config, loadConfig, matchParameters } from "../../config/index.js";
import { RecentValues } from "../../contracts/statistics.js";
import { Helper } from "../../match/helper.js";
import { engineOptionsFrom, type ImageLayout } from "../../pipeline/engine-options.js";
import { rectifiedGeometry } from "../../pipeline/geometry.js";
import { expectToRun } from "../../profile/repeated-stage.js";
import {
  hasPaths,
  megaDisparitiesPerSecond,
  type PointResult,
  type ProfilePoint,
  pointId,
  type TemperatureFigures,
  TIMELINE_FRAMES,
} from "../../profile/types.js";
import { type OpenedWork, openAddedWork } from "./added-work.js";
import type { DrawnPair, DrawnScene, SceneCache } from "./frames.js";
import { runFrames } from "./run-frames.js";

export interface MeasureOptions {
  scenes: SceneCache;
  meter: Meter;
  backend: "auto" | "cpu" | "cuda";
  /** Its source captures for points with added capture; default: the synthetic one. */
  cameras?: Config;
  /** The helper's command for points of the algorithm "foreign". */
  foreign?: string | undefined;
  threads: number;
  seconds: number;
  warmUpSeconds: number;
  readContext: () => ContextSnapshot;
}

/** A profile measures what the default settings compute. */
const { config } = loadConfig({ environment: {}, set: ["board=none"] });

/** The encoding of the default outputs. */
const ENCODED = { encodeDepth: "rvl" } as const;
const TIMELINE_SECONDS = 10;
const BIN_SECONDS = 0.1;
const STEADY_DEGREES = 1;

function openEngine(
  point: ProfilePoint,
  options: Pick<MeasureOptions, "backend" | "threads">,
  calibration: Parameters<typeof rectifiedGeometry>[0],
  description: ImageLayout = greyPairLayout(point.width, point.height),
): NativeEngine {
  const { width, height, without } = point;
  const depth = rectifiedGeometry(calibration, 0).depth;
  const encoded = without !== "depth" && without !== "encode" && depth !== undefined;
  const base = engineOptionsFrom(
    { ...config, engine: { backend: options.backend, threads: options.threads } },
    { description },
    { width, height, maps: undefined, depth: without === "depth" ? undefined : depth, rig: undefined },
    {
      ...(encoded && ENCODED),
      ...(point.repeat !== undefined && { repeatStage: point.repeat }),
    },
  );
  const { numDisparities, halfResolution = false } = point;
  const algorithm = point.algorithm === "foreign" ? config.match.algorithm : point.algorithm;
  const match = matchParameters({ ...config.match, algorithm, numDisparities, halfResolution });
  return createEngine({
    ...base,
    match: {
      ...match,
      parameters: {
        ...match.parameters,
        ...(hasPaths(algorithm) && { paths: point.paths }),
        ...(algorithm === "sgm" && { search: point.search ?? "full" }),
      },
    },
    refine: {
      ...base.refine,
      leftRight: without !== "leftRight",
      median: without !== "median",
      ...(without === "speckle" && { speckleSize: 0 }),
    },
  });
}

function hottest(context: ContextSnapshot): Figure {
  const values = Object.values(context.temperaturesCelsius);
  if (values.length > 0) return Math.max(...values);
  return { available: false, reason: "no thermal zone can be read" };
}

function temperatureFigures(halfway: Figure, start: Figure, end: Figure): TemperatureFigures {
  const steady =
    typeof halfway === "number" && typeof start === "number"
      ? Math.abs(start - halfway) < STEADY_DEGREES
      : { available: false as const, reason: "no thermal zone can be read" };
  return { startCelsius: start, endCelsius: end, steady };
}

/**
 * Tries the points that repeat a stage, one frame each, before anything is measured.
 * @throws DepthwattError USAGE for a stage that does not run
 */
export async function tryRepeatedStages(
  points: readonly ProfilePoint[],
  options: Pick<MeasureOptions, "scenes" | "backend" | "threads">,
): Promise<void> {
  const tried = new Set<string>();
  for (const point of points) {
    if (point.repeat === undefined || tried.has(pointId(point))) continue;
    tried.add(pointId(point));
    const { pairs, calibration } = await options.scenes.get(point);
    const engine = openEngine(point, options, calibration);
    try {
      const { left, right } = pairs[0]!;
      await engine.compute(left, right);
      expectToRun(engine, point.repeat, "--repeat-stages");
    } finally {
      engine.close();
    }
  }
}

type OnFrame = (takenNs: bigint, validPixels: number) => void;

interface OpenedPoint {
  engine: NativeEngine;
  work?: OpenedWork | undefined;
  run(seconds: number, onFrame: OnFrame): Promise<void>;
  close(): Promise<void>;
}

async function openPoint(point: ProfilePoint, options: MeasureOptions): Promise<OpenedPoint> {
  const { pairs, calibration } = await options.scenes.get(point);
  if (point.algorithm === "foreign") return openForeignPoint(point, options, { ...pairs[0]!, calibration });
  const { width, height, added, rateHz } = point;
  const frames = { width, height, encodings: ENCODED, input: greyPairLayout(width, height) };
  const { cameras = config } = options;
  const work = added && (await openAddedWork(added, { defaults: config, cameras, frames }));
  let engine: NativeEngine;
  try {
    engine = openEngine(point, options, calibration);
  } catch (error) {
    await work?.close();
    throw error;
  }
  return {
    engine,
    work,
    async run(seconds, onFrame) {
      await runFrames(engine, pairs, rateHz, seconds, onFrame, work?.lend);
      if (work?.failure !== undefined) throw work.failure;
    },
    async close() {
      await work?.close();
      engine.close();
    },
  };
}

async function openForeignPoint(
  point: ProfilePoint,
  options: MeasureOptions,
  { left, right, calibration }: DrawnPair & Pick<DrawnScene, "calibration">,
): Promise<OpenedPoint> {
  const { width, height, numDisparities } = point;
  const settings = { ...config.source.foreign, command: options.foreign ?? "" };
  const helper = await Helper.open(settings, { left, right, width, height, numDisparities });
  try {
    const engine = openEngine(point, options, calibration, helper.source.description);
    return {
      engine,
      async run(seconds, onFrame) {
        for (const begin = performance.now(); performance.now() - begin < 1000 * seconds; ) {
          const pair = await helper.next();
          try {
            const takenNs = process.hrtime.bigint();
            const { validPixels } = await engine.compute(pair.left.data, pair.right.data);
            onFrame(takenNs, validPixels);
          } finally {
            pair.release();
          }
        }
      },
      async close() {
        engine.close();
        await helper.close();
      },
    };
  } catch (error) {
    await helper.close();
    throw error;
  }
}

export async function measurePoint(point: ProfilePoint, options: MeasureOptions): Promise<PointResult> {
  const { meter, seconds, warmUpSeconds, readContext } = options;
  const { engine, work, run, close } = await openPoint(point, options);
  try {
    const ignore = (): void => {};
    await run(warmUpSeconds / 2, ignore);
    const halfway = hottest(readContext());
    await run(warmUpSeconds / 2, ignore);
    const start = hottest(readContext());
    const stages = STAGE_NAMES.map(() => new RecentValues(4096));
    const frames: number[] = [];
    let count = 0;
    let validPixels = 0;
    const date = new Date().toISOString();
    const worked = work?.count ?? 0;
    const fromNs = process.hrtime.bigint();
    await run(seconds, (takenNs, valid) => {
      meter.frame(takenNs);
      count++;
      validPixels += valid;
      for (const [index, milliseconds] of engine.stageMilliseconds.entries()) {
        if (!Number.isNaN(milliseconds)) stages[index]!.add(milliseconds);
      }
      const at = Number(takenNs - fromNs) / 1e9;
      if (at < TIMELINE_SECONDS && frames.length < TIMELINE_FRAMES) frames.push(Number(at.toFixed(4)));
    });
    const toNs = process.hrtime.bigint();
    const end = hottest(readContext());
    // The reading after the end: the last frames' energy is only known then.
    await sleep(250);
    meter.sample();
    const shown = Math.min(TIMELINE_SECONDS, seconds);
    const timeline = meter.timeline(fromNs, fromNs + BigInt(Math.round(shown * 1e9)), BIN_SECONDS);
    const measuredSeconds = Number(toNs - fromNs) / 1e9;
    return {
      id: pointId(point),
      point,
      date,
      backend: engine.info.backend,
      instructionSet: engine.info.instructionSet,
      threads: engine.info.threads,
      frames: count,
      seconds: measuredSeconds,
      fps: count / measuredSeconds,
      validPercent: count === 0 ? 0 : (100 * validPixels) / (count * point.width * point.height),
      ...(work !== undefined && { addedPerFrame: count === 0 ? 0 : (work.count - worked) / count }),
      stages: stageFigures(stages),
      power: meter.report({ fromNs, toNs, megaDisparitiesPerFrame: megaDisparitiesPerSecond(point) }),
      temperature: temperatureFigures(halfway, start, end),
      timeline: {
        binSeconds: BIN_SECONDS,
        watts: timeline.map((watts) => (Number.isNaN(watts) ? null : Number(watts.toFixed(3)))),
        frames,
      },
    };
  } finally {
    await close();
  }
}

function stageFigures(stages: readonly RecentValues[]): PointResult["stages"] {
  const figures: PointResult["stages"] = {};
  for (const [index, name] of STAGE_NAMES.entries()) {
    const values = stages[index]!.percentiles();
    if (values !== undefined) figures[name] = { p50Ms: values.p50, p95Ms: values.p95, p99Ms: values.p99 };
  }
  return figures;
}
