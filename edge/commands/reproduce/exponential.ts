// SPDX-License-Identifier: Apache-2.0
// Rows that both papers on exponential steps have: errors over numbers of iterations and bases.
import type { Lab, System } from "./lab.js";
import { v2Mean } from "./middlebury-v2.js";
import { type Row, range } from "./paper.js";

/** The presets whose iterations and base are changed. */
export type Base = "esaw-9" | "esmp-8";

/** ESAW or ESMP with another number of iterations T and another base b. */
export function exponential(preset: Base, iterations: number, base: number): System {
  const section = `match.${preset.slice(0, 4)}`;
  return {
    preset,
    set: [`${section}.steps=${iterations}`, `${section}.basePercent=${Math.round(100 * base)}`],
  };
}

/** The same with the colour distance as Yu et al. 2009 print it. */
export const withLab = ({ preset, set = [] }: System): System => ({
  preset,
  set: [...set, `match.${preset.slice(0, 4)}.colourDistance=lab`],
});

export const ITERATIONS = range(3, 10);

/** Returns the base with the least mean error; of equal ones the smallest. */
export async function bestBase(lab: Lab, preset: Base, iterations: number, bases: readonly number[]) {
  const best = { base: 0, error: Number.POSITIVE_INFINITY };
  for (const base of bases) {
    const error = await v2Mean(lab, exponential(preset, iterations, base));
    if (error < best.error) Object.assign(best, { base, error });
  }
  return best;
}

/**
 * Two rows for each number of iterations: the best base and its mean error.
 * @param printed by number of iterations: base and error, where the paper has numbers
 */
export function bestBaseRows(
  preset: Base,
  bases: readonly number[],
  printed: Readonly<Record<number, readonly [number, number]>> = {},
): Row[] {
  return ITERATIONS.flatMap((iterations): Row[] => [
    {
      name: `${iterations} iterations, best base`,
      unit: "",
      printed: printed[iterations]?.[0] ?? null,
      ours: async (lab) => (await bestBase(lab, preset, iterations, bases)).base,
    },
    {
      name: `${iterations} iterations, error at the best base`,
      unit: "%",
      printed: printed[iterations]?.[1] ?? null,
      ours: async (lab) => (await bestBase(lab, preset, iterations, bases)).error,
    },
  ]);
}
