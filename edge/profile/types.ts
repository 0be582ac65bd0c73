// SPDX-License-Identifier: Apache-2.0
// Defines a profile: points that are measured one after the other, their results, and their provenance.
import { type Algorithm, type BackendName, findMatcher, type StageName } from "../../cuda/index.js";
import { CLOCK_NAMES, type ClockTargets, type Figure, type PowerFigures } from "../../power/index.js";
import type { StageFigures } from "../contracts/totals.js";
import { megaDisparities } from "../pipeline/parameters.js";

/** One operating point. */
export interface ProfilePoint {
  /** nvpmodel's mode; undefined = the mode the machine is in. */
  mode: string | undefined;
  /** foreign: a helper's engine (source.foreign). */
  algorithm: Algorithm | "foreign";
  width: number;
  height: number;
  numDisparities: number;
  /** For matchers with paths; others ignore it. */
  paths: 2 | 4 | 8;
  /** Frames per second asked for, or as many as can be computed. */
  rateHz: number | "max";
  /** Upper limits of clocks; absent: those that the machine has. */
  clockHertz?: ClockTargets;
  /** Matched at half the width and height; absent: at full resolution. */
  halfResolution?: true;
  /** match.sgm.search; absent: full. */
  search?: "coarseToFine";
  /** A stage that is left out, to find what it costs. */
  without?: OptionalStage;
  /** A stage that runs more than once in every frame, to find what it costs. */
  repeat?: RepeatedStage;
  /** Work that is done next to the frames, to find what it costs. */
  added?: AddedWork;
}

/** capture: a camera pair delivers images. publish: every frame goes to the broker. */
export const ADDED_WORK = ["capture", "publish"] as const;
export type AddedWork = (typeof ADDED_WORK)[number];

export interface RepeatedStage {
  stage: StageName;
  /** 2 or more. */
  times: number;
}

/** Stages that a frame can do without. */
export const OPTIONAL_STAGES = ["leftRight", "median", "speckle", "depth", "encode"] as const;
export type OptionalStage = (typeof OPTIONAL_STAGES)[number];

/** Hottest zone in degrees Celsius. */
export interface TemperatureFigures {
  startCelsius: Figure;
  endCelsius: Figure;
  /** True when the hottest zone moved by less than a degree in the second half of the warm-up. */
  steady: boolean | { available: false; reason: string };
}

export interface PointResult {
  id: string;
  point: ProfilePoint;
  /** When the measurement began, ISO 8601. */
  date: string;
  backend: BackendName;
  instructionSet: string;
  threads: number;
  frames: number;
  seconds: number;
  fps: number;
  validPercent: number;
  /** Pairs captured or frames published for each computed frame; absent without added work. */
  addedPerFrame?: number;
  stages: Partial<Record<StageName, StageFigures>>;
  power: PowerFigures;
  temperature: TemperatureFigures;
  /** The first seconds of the measurement: watts per bin, and when frames were taken in (seconds). */
  timeline: { binSeconds: number; watts: (number | null)[]; frames: number[] };
}

export interface ProfileProvenance {
  version: string;
  machine: string;
  board: { name: string | null; title: string; reason: string; level: string };
  processor: string;
  cores: number;
  kernel: string;
  node: string;
  l4t: string | null;
  gpu: string | null;
  sensor:
    | { name: string; total: string; totalRails: string[]; rails: RailProvenance[] }
    | { available: false; reason: string };
  backend: string;
  backendReason: string;
}

export interface RailProvenance {
  label: string;
  kind: "power" | "energy";
  updateIntervalMs: number | null;
  step: number | null;
}

export const PROFILE_FORMAT = "depthwatt-profile/1";

export interface Profile {
  format: typeof PROFILE_FORMAT;
  date: string;
  provenance: ProfileProvenance;
  /** Seconds measured per point, after the warm-up. */
  seconds: number;
  warmUpSeconds: number;
  /** The machine's own limits; absent: the clocks were left alone. */
  clockLimitHertz?: ClockTargets;
  idleBefore: Figure;
  idleAfter: Figure;
  results: PointResult[];
}

/** A frame as it is computed in earnest: no stage left out, none repeated, no work added. */
export const isWhole = ({ without, repeat, added }: ProfilePoint): boolean =>
  without === undefined && repeat === undefined && added === undefined;

export const hasPaths = (algorithm: ProfilePoint["algorithm"]): boolean =>
  algorithm !== "foreign" && findMatcher(algorithm).parameters.some(({ key }) => key === "paths");

/** Names a point: the same for the same point in every run, so that two runs can be compared. */
export function pointId(point: ProfilePoint): string {
  const rate = point.rateHz === "max" ? "max" : `${point.rateHz}hz`;
  const parts = [
    point.algorithm,
    `${point.width}x${point.height}`,
    `d${point.numDisparities}`,
    `p${point.paths}`,
    rate,
    ...(point.mode === undefined ? [] : [point.mode]),
    ...(point.halfResolution ? ["half"] : []),
    ...(point.search === undefined ? [] : [point.search]),
    ...CLOCK_NAMES.flatMap((name) => {
      const hertz = point.clockHertz?.[name];
      return hertz === undefined ? [] : [`${name}${hertz / 1e6}`];
    }),
    ...(point.without === undefined ? [] : [`no-${point.without}`]),
    ...(point.repeat === undefined ? [] : [`${point.repeat.stage}-x${point.repeat.times}`]),
    ...(point.added === undefined ? [] : [point.added]),
  ];
  return parts.join("-");
}

/** Millions of disparity evaluations per frame. */
export const megaDisparitiesPerSecond = (point: ProfilePoint): number =>
  megaDisparities({ ...point, halfResolution: point.halfResolution ?? false }, point);

/** Frame times kept per point: more cannot be distinguished in a picture, and would outgrow the rest of the file. */
export const TIMELINE_FRAMES = 2000;
