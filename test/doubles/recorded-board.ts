// SPDX-License-Identifier: Apache-2.0
// A recorded board for the governor: watts and speed of each level as `depthwatt profile` measured them on an H200 (CUDA,
// full resolution), and the swings of its power as NVML's samples held them, second by second. What was not recorded is not
// made up: only levels of the profile are visited, and loads of others are added on top by the test.
import { join } from "node:path";
import { mean } from "../../core/index.js";
import type { LevelFigures } from "../../edge/governor/knowledge.js";
import type { QualityLevel } from "../../edge/governor/ladder.js";
import type { Observation } from "../../edge/governor/limits.js";
import type { Board } from "./governor-run.js";
import { readRecord } from "./nvml-record.js";

const repository = join(import.meta.dirname, "../..");

/** @param path a CSV file, relative to the repository */
function readRows(path: string): Record<string, string>[] {
  const [head, ...lines] = readRecord(join(repository, path)).trim().split(/\r?\n/);
  const names = head!.split(",");
  return lines.map((line) => {
    const fields = line.split(",");
    return Object.fromEntries(names.map((column, i) => [column, fields[i]!]));
  });
}

interface Recorded {
  fps: number;
  idleWatts: number;
  joulesPerFrameNet: number;
}

const PROFILE = readRows("bench/results/h200/2026-11-21-7286ae5-profile.csv");

/** The measurement at 640 x 480 at full speed; undefined if the profile has none. */
export function recorded({
  parameters: { paths },
  numDisparities,
  halfResolution,
  mode,
}: QualityLevel): Recorded | undefined {
  if (halfResolution || mode !== undefined) return undefined;
  const row = PROFILE.find(({ id }) => id === `sgm-640x480-d${numDisparities}-p${paths}-max`);
  if (row === undefined) return undefined;
  return {
    fps: Number(row.fps),
    idleWatts: Number(row.idle_watts),
    joulesPerFrameNet: Number(row.joules_per_frame_net),
  };
}

/**
 * Deviation of each second of one load from that load's mean, as a share of the power above idle. Seconds 53 to 59 of
 * the samples are one operating point (8 paths, 128 disparities), without the step into it.
 */
function recordedSwings(idleWatts: number): number[] {
  const seconds = new Map<number, number[]>();
  for (const { time_ns, power_instant_mw } of readRows("test/data/h200-nvml-samples.csv.gz")) {
    const second = Math.floor(Number(time_ns) / 1e9);
    if (second < 54 || second > 59) continue;
    seconds.set(second, [...(seconds.get(second) ?? []), Number(power_instant_mw) / 1000 - idleWatts]);
  }
  const means = [...seconds.values()].map(mean);
  const meanOfAll = mean(means);
  return means.map((value) => value / meanOfAll - 1);
}

export interface RecordedBoardOptions {
  sourceHz: number;
  otherWatts?: (seconds: number) => number;
  sensorWorks?: (seconds: number) => boolean;
  throttles?: (seconds: number) => boolean;
}

export class RecordedBoard implements Board {
  seconds = 0;
  trueWatts = 0;
  fps = 0;
  readonly #options: RecordedBoardOptions;
  readonly #swings: readonly number[];

  constructor(options: RecordedBoardOptions) {
    this.#options = options;
    this.#swings = recordedSwings(Number(PROFILE[0]!.idle_watts));
  }

  second(level: QualityLevel): Observation {
    const { sourceHz, otherWatts, sensorWorks, throttles } = this.#options;
    const at = recorded(level);
    if (at === undefined) throw new Error(`not recorded: ${level.name}`);
    this.fps = Math.min(at.fps, sourceHz, level.rateHz ?? Number.POSITIVE_INFINITY);
    const swing = this.#swings[this.seconds % this.#swings.length]!;
    const dynamic = at.joulesPerFrameNet * this.fps * (1 + swing);
    this.trueWatts = at.idleWatts + dynamic + (otherWatts?.(this.seconds) ?? 0);
    this.seconds++;
    const lost = { available: false as const, reason: "nvml: the GPU is gone" };
    return {
      nowMs: this.seconds * 1000,
      watts: (sensorWorks?.(this.seconds) ?? true) ? this.trueWatts : lost,
      fps: this.fps,
      capacityFps: at.fps,
      throttled: throttles?.(this.seconds) ?? false,
    };
  }
}

/** The profile's values of each level for the governor at this source's rate. */
export function recordedTable(levels: readonly QualityLevel[], sourceHz: number): LevelFigures[] {
  return levels.map((level) => {
    const { fps, idleWatts, joulesPerFrameNet } = recorded(level)!;
    const taken = Math.min(fps, sourceHz, level.rateHz ?? fps);
    return { capacityFps: fps, watts: idleWatts + joulesPerFrameNet * taken };
  });
}
