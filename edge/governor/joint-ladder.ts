// SPDX-License-Identifier: Apache-2.0
// One ladder of several: rigs that share a board go down together, one step at a time.
import { type GovernorLevel, type QualityLevel, relativeWork } from "./ladder.js";

/** The level of each rig at once. */
export type JointLevel = Extract<GovernorLevel, { work: number }> & {
  /** Positions in the ladders of the rigs, in their order. */
  steps: readonly number[];
};

const lowest = (rates: readonly (number | undefined)[]): number | undefined => {
  const limited = rates.filter((rate) => rate !== undefined);
  return limited.length === 0 ? undefined : Math.min(...limited);
};

/**
 * Joins ladders: the rig that has given up the fewest steps takes the next one; of several, the last. So the first rig keeps
 * its quality longest.
 * @param ladders by the rigs' names, in the order of the configuration
 * @param modes power modes of the board to step down to last of all, best first
 */
export function joinLadders(
  ladders: ReadonlyMap<string, readonly QualityLevel[]>,
  modes: readonly string[] = [],
): JointLevel[] {
  const rigs = [...ladders];
  const joint = (steps: readonly number[], mode: string | undefined): JointLevel => {
    const levels = rigs.map(([, ladder], rig) => ladder[steps[rig]!]!);
    const names = rigs.map(([name], rig) => `${name}: ${levels[rig]!.name}`);
    return {
      name: [...names, ...(mode === undefined ? [] : [`power mode ${mode}`])].join("; "),
      work: levels.reduce((sum, level) => sum + relativeWork(level), 0),
      rateHz: lowest(levels.map(({ rateHz }) => rateHz)),
      mode,
      steps,
    };
  };
  let steps: readonly number[] = rigs.map(() => 0);
  const found = [joint(steps, undefined)];
  for (;;) {
    let next = -1;
    for (const [rig, [, ladder]] of rigs.entries()) {
      const canStep = steps[rig]! + 1 < ladder.length;
      if (canStep && (next < 0 || steps[rig]! <= steps[next]!)) next = rig;
    }
    if (next < 0) break;
    steps = steps.map((step, rig) => (rig === next ? step + 1 : step));
    found.push(joint(steps, undefined));
  }
  for (const mode of modes) found.push(joint(steps, mode));
  return found;
}
