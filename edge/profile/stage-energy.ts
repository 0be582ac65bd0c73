// SPDX-License-Identifier: Apache-2.0
// What a stage costs in joules, by ordinary least squares over runs with and without it: a stage of a millisecond is far
// too short for any rail, a run of twenty seconds is not.
import { OPTIONAL_STAGES, type OptionalStage, type PointResult } from "./types.js";

export interface StageEnergy {
  stage: OptionalStage;
  joulesPerFrame: number;
  /** Half the width of the 95 % confidence interval, Student's t with the residuals' degrees of freedom. */
  halfWidth: number;
}

export interface StageEnergies {
  stages: StageEnergy[];
  /** What remains with every optional stage left out: rectification, census, matching and the machine itself. */
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

/**
 * @param observations joules per frame of runs, each with the stage it was run without
 * @returns undefined with too few runs: every stage needs one without it, and at least two runs more than unknowns
 */
export function regress(
  observations: readonly { without: OptionalStage | undefined; joulesPerFrame: number }[],
): StageEnergies | undefined {
  const stages = OPTIONAL_STAGES.filter((stage) => observations.some((item) => item.without === stage));
  const unknowns = stages.length + 1;
  const degreesOfFreedom = observations.length - unknowns;
  if (stages.length === 0 || degreesOfFreedom < 2) return undefined;
  // depth carries encode with it: without depth there is nothing to encode.
  const present = (stage: OptionalStage, without: OptionalStage | undefined): number =>
    stage === without || (stage === "encode" && without === "depth") ? 0 : 1;
  const rows = observations.map(({ without }) => [1, ...stages.map((stage) => present(stage, without))]);
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

/** Stage energies of a profile: of the runs that differ from its first point only in the stage left out. */
export function stageEnergies(results: readonly PointResult[]): StageEnergies | undefined {
  const base = results.find((result) => result.point.without !== undefined)?.point;
  if (base === undefined) return undefined;
  const { without: _left, ...same } = base;
  const key = JSON.stringify(same);
  const observations = results.flatMap(({ point, power }) => {
    const { without, ...rest } = point;
    if (JSON.stringify(rest) !== key || !power.available || typeof power.joulesPerFrame !== "number")
      return [];
    return [{ without, joulesPerFrame: power.joulesPerFrame }];
  });
  return regress(observations);
}
