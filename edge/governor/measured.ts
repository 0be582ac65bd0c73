// SPDX-License-Identifier: Apache-2.0
// The ladder by what a profile has measured: clock limits become levels where they save watts and keep the frame rate,
// and levels that save nothing are left out.
import type { ClockTargets } from "../../power/index.js";
import type { Profile } from "../profile/types.js";
import type { LevelFigures } from "./knowledge.js";
import { levelName, type QualityLevel } from "./ladder.js";
import { GOVERNOR_LIMITS, type GovernorGoal } from "./limits.js";
import { buildTable, type Camera, sameClocks } from "./table.js";

export interface MeasuredLadder {
  levels: QualityLevel[];
  table: LevelFigures[];
}

/** A level must draw this share less than the one before: a smaller difference is within the uncertainty of a profile. */
const LEAST_SAVING = 0.01;

/** The clock limits that a profile has visited, fastest first. */
export function profiledClocks(profile: Profile): ClockTargets[] {
  const found: ClockTargets[] = [];
  for (const { point } of profile.results) {
    const clocks = point.clockHertz;
    if (clocks !== undefined && !found.some((one) => sameClocks(one, clocks))) found.push(clocks);
  }
  const fastest = Number.MAX_SAFE_INTEGER;
  return found.sort(
    (a, b) => (b.gpu ?? fastest) - (a.gpu ?? fastest) || (b.emc ?? fastest) - (a.emc ?? fastest),
  );
}

const limitedTo = (level: QualityLevel, clocks: ClockTargets): QualityLevel => {
  const limited = { ...level, clocks };
  return { ...limited, name: levelName(limited) };
};

/**
 * Every quality keeps its place. Behind it come the clock limits at which it draws less and still computes every frame.
 * @param levels the ladder without clock limits
 * @param clocks limits that the machine accepts, fastest first
 */
export function measuredLadder(
  levels: readonly QualityLevel[],
  {
    profile,
    camera,
    goal,
    clocks,
  }: {
    profile: Profile;
    camera: Camera;
    goal: GovernorGoal;
    clocks: readonly ClockTargets[];
  },
): MeasuredLadder {
  const kept: MeasuredLadder = { levels: [], table: [] };
  let lowest: LevelFigures = {};
  const keep = (level: QualityLevel, figures: LevelFigures): void => {
    kept.levels.push(level);
    kept.table.push(figures);
    if (figures.watts !== undefined) lowest = figures;
  };
  const gains = ({ watts, capacityFps }: LevelFigures, { rateHz }: QualityLevel): boolean => {
    if (lowest.watts === undefined || watts! < lowest.watts * (1 - LEAST_SAVING)) return true;
    // Without a budget, speed is what a level is for.
    const faster = capacityFps! > lowest.capacityFps! * (1 + LEAST_SAVING);
    return goal.minFps !== undefined && rateHz === undefined && faster;
  };
  for (const level of levels) {
    const before = kept.levels.at(-1)?.clocks ?? {};
    const choices = [level, ...clocks.map((targets) => limitedTo(level, targets))];
    const table = buildTable(profile, choices, camera);
    const rate = Math.min(
      level.rateHz ?? Number.POSITIVE_INFINITY,
      camera.rateHz ?? Number.POSITIVE_INFINITY,
    );
    const needed = Number.isFinite(rate) ? rate : (goal.minFps ?? Number.POSITIVE_INFINITY);
    for (const [index, choice] of choices.entries()) {
      const figures = table[index]!;
      if (figures.watts === undefined) continue;
      const isTooSlow = figures.capacityFps! < needed * (1 + 2 * GOVERNOR_LIMITS.marginShare);
      if (index > 0 && isTooSlow) continue;
      if (kept.levels.length === 0 || gains(figures, choice)) keep(choice, figures);
    }
    // Less work at the clocks of the level before draws less, even if no profile has measured it.
    const same = choices.findIndex((choice) => sameClocks(choice.clocks, before));
    if (table[same]!.watts === undefined && kept.levels.at(-1)?.clocks === before)
      keep(choices[same]!, table[same]!);
    else if (kept.levels.length === 0) keep(level, table[0]!);
  }
  return kept;
}
