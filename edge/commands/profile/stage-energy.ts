// SPDX-License-Identifier: Apache-2.0
// Estimates the joules of a stage by ordinary least squares over runs in which it is left out, done once or repeated: a
// stage of a millisecond is far too short for any rail, a run of twenty seconds is not.
import { median } from "../../../core/index.js";
import { STAGE_NAMES, type StageName } from "../../../cuda/index.js";
import type { Unavailable } from "../../contracts/availability.js";
import {
  ADDED_WORK,
  type AddedWork,
  isWhole,
  type OptionalStage,
  type PointResult,
  type ProfilePoint,
} from "../../profile/types.js";

export interface StageEnergy {
  stage: Step;
  joulesPerFrame: number;
  /** Half the width of the 95 % confidence interval, Student's t with the residuals' degrees of freedom. */
  halfWidth: number;
}

export interface StageEnergies {
  stages: StageEnergy[];
  /** The remainder without the stages above: those that were neither left out nor repeated, and the machine. */
  remainder: { joulesPerFrame: number; halfWidth: number };
  runs: number;
  degreesOfFreedom: number;
}

/** Two-sided 95 % quantile of Student's t; Cornish and Fisher's expansion, exact to 0.4 % beyond the table. */
export function studentQuantile95(degrees: number): number {
  const exact = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365];
  if (degrees <= exact.length) return exact[degrees - 1] ?? Number.NaN;
  const z = 1.959964;
  const n = degrees;
  return z + (z ** 3 + z) / (4 * n) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * n ** 2);
}

/** Inverts a small symmetric matrix by Gauss and Jordan; undefined where it is singular. */
function invert(matrix: readonly (readonly number[])[]): number[][] | undefined {
  const n = matrix.length;
  const rows = matrix.map((row, i) => [...row, ...Array.from({ length: n }, (_, j) => (i === j ? 1 : 0))]);
  for (let column = 0; column < n; column++) {
    let pivot = column;
    for (let i = column + 1; i < n; i++) {
      if (Math.abs(rows[i]![column]!) > Math.abs(rows[pivot]![column]!)) pivot = i;
    }
    [rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!];
    const head = rows[column]!;
    const divisor = head[column]!;
    if (Math.abs(divisor) < 1e-12) return undefined;
    for (let j = 0; j < 2 * n; j++) head[j]! /= divisor;
    for (let i = 0; i < n; i++) {
      const factor = i === column ? 0 : rows[i]![column]!;
      if (factor !== 0) for (let j = 0; j < 2 * n; j++) rows[i]![j]! -= factor * head[j]!;
    }
  }
  return rows.map((row) => row.slice(n));
}

/** One run: its joules per frame, and the stage that was left out or repeated or the work that was added in it. */
export interface StageRun extends Pick<ProfilePoint, "without" | "repeat" | "added"> {
  joulesPerFrame: number;
  addedPerFrame?: number;
}

/** The check that a matcher calls for can be left out, though its time is part of the matcher's. */
export type Step = StageName | OptionalStage | AddedWork;
export const STEPS: readonly Step[] = [
  "capture",
  ...STAGE_NAMES.flatMap((stage) => (stage === "match" ? [stage, "leftRight" as const] : [stage])),
  "publish",
];

/** How often a stage ran in every frame. depth carries encode with it: without depth there is nothing to encode. */
function stageRepeats(stage: Step, { without, repeat, added, addedPerFrame = 0 }: StageRun): number {
  if (ADDED_WORK.some((work) => work === stage)) return stage === added ? addedPerFrame : 0;
  if (stage === without || (stage === "encode" && without === "depth")) return 0;
  return stage === repeat?.stage ? repeat.times : 1;
}

/**
 * @returns undefined with too few runs: every stage needs one in which it is left out or repeated, and at least two runs more
 *   than there are unknowns
 */
export function regress(observations: readonly StageRun[]): StageEnergies | undefined {
  const stages = STEPS.filter((stage) =>
    observations.some(
      ({ without, repeat, added }) => without === stage || repeat?.stage === stage || added === stage,
    ),
  );
  const unknowns = stages.length + 1;
  const degreesOfFreedom = observations.length - unknowns;
  if (stages.length === 0 || degreesOfFreedom < 2) return undefined;
  const rows = observations.map((run) => [1, ...stages.map((stage) => stageRepeats(stage, run))]);
  const normal = Array.from({ length: unknowns }, (_, i) =>
    Array.from({ length: unknowns }, (_, j) => rows.reduce((sum, row) => sum + row[i]! * row[j]!, 0)),
  );
  const inverse = invert(normal);
  if (inverse === undefined) return undefined;
  const right = Array.from({ length: unknowns }, (_, i) =>
    rows.reduce((sum, row, k) => sum + row[i]! * observations[k]!.joulesPerFrame, 0),
  );
  const solution = inverse.map((row) => row.reduce((sum, value, j) => sum + value * right[j]!, 0));
  const squares = rows.reduce((sum, row, k) => {
    const fitted = row.reduce((total, value, j) => total + value * solution[j]!, 0);
    return sum + (observations[k]!.joulesPerFrame - fitted) ** 2;
  }, 0);
  const scale = studentQuantile95(degreesOfFreedom) * Math.sqrt(squares / degreesOfFreedom);
  const estimate = (i: number) => ({
    joulesPerFrame: solution[i]!,
    halfWidth: scale * Math.sqrt(Math.max(0, inverse[i]![i]!)),
  });
  return {
    stages: stages.map((stage, i) => ({ stage, ...estimate(i + 1) })),
    remainder: estimate(0),
    runs: observations.length,
    degreesOfFreedom,
  };
}

const wholeKey = ({ without: _left, repeat: _repeated, added: _added, ...same }: ProfilePoint): string =>
  JSON.stringify(same);

/** Stage energies of a profile: of the runs that differ only in the stage left out or repeated. */
export function stageEnergies(results: readonly PointResult[]): StageEnergies | undefined {
  const base = results.find(({ point }) => !isWhole(point))?.point;
  if (base === undefined) return undefined;
  const key = wholeKey(base);
  const observations = results.flatMap(({ point, power, addedPerFrame }): StageRun[] => {
    if (wholeKey(point) !== key || !power.available || typeof power.joulesPerFrame !== "number") return [];
    const { without, repeat, added } = point;
    const { joulesPerFrame } = power;
    return [
      {
        joulesPerFrame,
        ...(without && { without }),
        ...(repeat && { repeat }),
        ...(added && { added, addedPerFrame: addedPerFrame ?? 0 }),
      },
    ];
  });
  return regress(observations);
}

/** Costs of each stage; joules are unavailable without a sensor or with too few runs. */
export interface StageCosts {
  joules: StageEnergies | Unavailable;
  /** Idle power over the frame rate: the part of the remainder that the idle machine takes, of the whole frames. */
  idleJoulesPerFrame: number | Unavailable;
  /** Work that no run has added, and why. */
  notAdded: Partial<Record<AddedWork, Unavailable>>;
  /** Median milliseconds of each stage that ran, of the whole frames. */
  milliseconds: Partial<Record<StageName, number>>;
}

const HOW_TO_ADD: Record<AddedWork, string> = {
  capture: "name the cameras' configuration with --config",
  publish: "measure it with --stages",
};

function idleJoules(whole: readonly PointResult[], reason: string): number | Unavailable {
  const joules = whole.flatMap(({ power, fps }) =>
    power.available && typeof power.idleWatts === "number" ? power.idleWatts / fps : [],
  );
  return joules.length === 0 ? { available: false, reason } : median(joules);
}

/** Returns undefined for a profile without rounds of stages. */
export function stageCosts(results: readonly PointResult[]): StageCosts | undefined {
  const base = results.find(({ point }) => !isWhole(point))?.point;
  if (base === undefined) return undefined;
  const key = wholeKey(base);
  const whole = results.filter(({ point }) => isWhole(point) && wholeKey(point) === key);
  const names = STAGE_NAMES.filter((name) => whole.some(({ stages }) => stages[name] !== undefined));
  const withoutPower = results.find(({ power }) => !power.available)?.power;
  const reason =
    withoutPower !== undefined && !withoutPower.available
      ? withoutPower.reason
      : "too few runs: add rounds (--stage-rounds)";
  const missing = ADDED_WORK.filter((work) => !results.some(({ point }) => point.added === work));
  return {
    joules: stageEnergies(results) ?? { available: false, reason },
    idleJoulesPerFrame: idleJoules(whole, withoutPower === undefined ? "no idle power was measured" : reason),
    notAdded: Object.fromEntries(
      missing.map((work) => [work, { available: false, reason: HOW_TO_ADD[work] }]),
    ),
    milliseconds: Object.fromEntries(
      names.map((name) => [name, median(whole.flatMap(({ stages }) => stages[name]?.p50Ms ?? []))]),
    ),
  };
}
