// SPDX-License-Identifier: Apache-2.0
// Error against density: how wrong the surest pixels are, by how many of them are kept.
import type { Scene } from "./dataset.js";
import { INVALID_DISPARITY_Q4 } from "./score.js";

/** Errors of the surest pixels at every density of DENSITIES; null where fewer pixels have an estimate. */
export interface DensityCurve {
  /** Percent of the pixels with a ground truth that are kept. */
  densityPercent: readonly number[];
  /** Percent of the kept pixels that are off by more than the threshold. */
  badPercent: (number | null)[];
  /** Mean |estimate - truth| of the kept pixels, pixels of the images. */
  endPointErrorPx: (number | null)[];
}

const DENSITIES: readonly number[] = Array.from({ length: 20 }, (_, i) => 5 * (i + 1));
const LEVELS = 256;

/**
 * Sorts the pixels with a ground truth by confidence, and scores the surest ones. Of pixels with the same confidence, a density that ends
 * among them counts a share of each.
 */
export function densityCurve(
  { truth }: Pick<Scene, "truth">,
  disparityQ4: Int16Array,
  confidence: Uint8Array,
  thresholdPx: number,
): DensityCurve {
  const kept = new Float64Array(LEVELS);
  const bad = new Float64Array(LEVELS);
  const errors = new Float64Array(LEVELS);
  let evaluated = 0;
  for (const [i, expected] of truth.entries()) {
    if (!Number.isFinite(expected)) continue;
    ++evaluated;
    const got = disparityQ4[i]!;
    if (got === INVALID_DISPARITY_Q4) continue;
    const level = confidence[i]!;
    const error = Math.abs(got / 16 - expected);
    kept[level]! += 1;
    errors[level]! += error;
    if (error > thresholdPx) bad[level]! += 1;
  }
  const curve: DensityCurve = { densityPercent: DENSITIES, badPercent: [], endPointErrorPx: [] };
  for (const density of DENSITIES) {
    const wanted = (evaluated * density) / 100;
    let [left, wrong, error] = [wanted, 0, 0];
    for (let level = LEVELS - 1; level >= 0 && left > 0; --level) {
      if (kept[level] === 0) continue;
      const share = Math.min(1, left / kept[level]!);
      left -= share * kept[level]!;
      wrong += share * bad[level]!;
      error += share * errors[level]!;
    }
    // Rounding leaves a trace of a pixel.
    const isReached = evaluated > 0 && left < 1e-6;
    curve.badPercent.push(isReached ? (100 * wrong) / wanted : null);
    curve.endPointErrorPx.push(isReached ? error / wanted : null);
  }
  return curve;
}

/** Returns the mean over scenes at each density; null where a scene has fewer estimates. */
export function meanCurve(curves: readonly DensityCurve[]): DensityCurve {
  const average = (key: "badPercent" | "endPointErrorPx") =>
    DENSITIES.map((_, i) => {
      let sum = 0;
      for (const curve of curves) {
        const value = curve[key][i] ?? null;
        if (value === null) return null;
        sum += value;
      }
      return sum / curves.length;
    });
  return {
    densityPercent: DENSITIES,
    badPercent: average("badPercent"),
    endPointErrorPx: average("endPointErrorPx"),
  };
}

/** Returns rows for a person, headings first: every second density of each scene and of their mean. */
export function densityTable(scenes: readonly { name: string; curve: DensityCurve }[]): string[][] {
  const isShown = (density: number) => density % 10 === 0;
  const shown = (values: readonly (number | null)[]) =>
    DENSITIES.flatMap((density, i) => (isShown(density) ? [values[i]?.toFixed(2) ?? "-"] : []));
  return [
    ["% bad of the surest", ...DENSITIES.filter(isShown).map((density) => `${density} %`)],
    ...scenes.map(({ name, curve }) => [name, ...shown(curve.badPercent)]),
  ];
}
