// SPDX-License-Identifier: Apache-2.0
// Two profiles point by point: what changed, and whether the change is larger than what both do not know.
import { mean } from "../../../core/index.js";
import type { Figure, PowerReport, Unavailable } from "../../../power/index.js";
import type { PointResult, Profile } from "../../profile/types.js";

export interface ComparedPoint {
  id: string;
  fps: { a: number; b: number; changePercent: number };
  watts: Compared;
  joulesPerFrame: Compared;
}

export type Compared =
  | {
      available: true;
      a: number;
      b: number;
      changePercent: number;
      /** True if the change is larger than the uncertainty. */
      significant: boolean | Unavailable;
    }
  | { available: false; reason: string };

export interface Comparison {
  points: ComparedPoint[];
  /** Points that only one of the two has. */
  onlyA: string[];
  onlyB: string[];
  /** Conditions that differ, such as board, version or power mode. */
  differences: string[];
}

/** Several rounds of one point are one point: the mean of what they gave. */
function byId(profile: Profile): Map<string, PointResult[]> {
  const groups = new Map<string, PointResult[]>();
  for (const result of profile.results) groups.set(result.id, [...(groups.get(result.id) ?? []), result]);
  return groups;
}

const percent = (a: number, b: number): number => (100 * (b - a)) / a;

function compareFigure(
  name: string,
  a: readonly PointResult[],
  b: readonly PointResult[],
  pick: (result: PointResult) => { value: Figure; relative: Figure },
): Compared {
  const sides = [a, b].map((results) => results.map(pick));
  const numbers = sides.map((side) =>
    side.flatMap(({ value }) => (typeof value === "number" ? [value] : [])),
  );
  for (const [index, side] of sides.entries()) {
    const refused = side.find(({ value }) => typeof value !== "number")?.value;
    if (refused !== undefined && typeof refused !== "number") {
      return { available: false, reason: `${name} of ${index === 0 ? "A" : "B"}: ${refused.reason}` };
    }
  }
  const [meanA, meanB] = [mean(numbers[0]!), mean(numbers[1]!)];
  const change = { available: true, a: meanA, b: meanB, changePercent: percent(meanA, meanB) } as const;
  const unknown = sides.flat().find(({ relative }) => typeof relative !== "number")?.relative;
  if (typeof unknown === "object") return { ...change, significant: unknown };
  const [limitA, limitB] = sides.map((side) => mean(side.map(({ relative }) => relative as number)));
  // k = 2 on both sides, in quadrature: larger than that happens by chance in one of twenty comparisons.
  return {
    ...change,
    significant: Math.abs(meanB - meanA) > Math.hypot(meanA * limitA!, meanB * limitB!),
  };
}

const relativeUncertainty = ({ watts, wattsUncertainty }: PowerReport): Figure =>
  typeof wattsUncertainty === "number" ? wattsUncertainty / watts : wattsUncertainty;

const pointWatts = ({ power }: PointResult) =>
  power.available
    ? { value: power.watts, relative: relativeUncertainty(power) }
    : { value: power, relative: 0 };

const pointJoules = ({ power }: PointResult) =>
  power.available
    ? { value: power.joulesPerFrame, relative: relativeUncertainty(power) }
    : { value: power, relative: 0 };

function differences(a: Profile, b: Profile): string[] {
  const facts = (profile: Profile): Record<string, string> => {
    const { provenance } = profile;
    const { sensor, board } = provenance;
    return {
      board: board.title,
      processor: provenance.processor,
      GPU: provenance.gpu ?? "none",
      version: provenance.version,
      backend: provenance.backend,
      sensor: "available" in sensor ? "none" : `${sensor.name} (${sensor.total})`,
      seconds: String(profile.seconds),
    };
  };
  const [factsA, factsB] = [facts(a), facts(b)];
  return Object.keys(factsA).flatMap((name) =>
    factsA[name] === factsB[name] ? [] : [`${name}: ${factsA[name]} | ${factsB[name]}`],
  );
}

export function compareProfiles(a: Profile, b: Profile): Comparison {
  const [groupsA, groupsB] = [byId(a), byId(b)];
  const points = [...groupsA].flatMap(([id, resultsA]): ComparedPoint[] => {
    const resultsB = groupsB.get(id);
    if (resultsB === undefined) return [];
    const [fpsA, fpsB] = [mean(resultsA.map((r) => r.fps)), mean(resultsB.map((r) => r.fps))];
    return [
      {
        id,
        fps: { a: fpsA, b: fpsB, changePercent: percent(fpsA, fpsB) },
        watts: compareFigure("watts", resultsA, resultsB, pointWatts),
        joulesPerFrame: compareFigure("joules per frame", resultsA, resultsB, pointJoules),
      },
    ];
  });
  return {
    points,
    onlyA: [...groupsA.keys()].filter((id) => !groupsB.has(id)),
    onlyB: [...groupsB.keys()].filter((id) => !groupsA.has(id)),
    differences: differences(a, b),
  };
}
