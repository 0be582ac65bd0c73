// SPDX-License-Identifier: Apache-2.0
// The measures of a benchmark: D1, bad pixels at several thresholds, density and end-point error, mask by mask.
import type { Scene } from "./dataset.js";
import type { Measure } from "./scene-entry.js";
import { INVALID_DISPARITY_Q4, score } from "./score.js";

/** Measures of a set without a benchmark's: D1 as KITTI 2015 defines it, bad pixels as Middlebury and ETH3D do. */
const COMMON_MEASURES: readonly Measure[] = [
  { name: "D1", thresholdPx: 3, share: 0.05 },
  ...[0.5, 1, 2, 4].map((thresholdPx) => ({ name: `bad ${thresholdPx}`, thresholdPx })),
];

/** The share of bad pixels by one measure; null if no pixel is counted. */
export type MeasureScore = {
  /** The share of the pixels with a ground truth; no estimate counts as bad. */
  badPercent: number | null;
  /** The share of the pixels that have an estimate, filled ones included. */
  badPercentValidOnly: number | null;
  /** The share of the pixels that were matched, not filled; absent from matchers without confidence. */
  badPercentMatched?: number | null;
};

/** By mask ("all": every pixel with a ground truth), then by the measure's name. */
export type MeasureScores = Record<string, Record<string, MeasureScore>>;

/** How many pixels of a mask have an estimate, and their mean error. */
export type Estimates = {
  /** Percent of the pixels with a ground truth that have an estimate. */
  density: number | null;
  /** Mean |estimate - truth|, in pixels of the benchmark's full size. */
  endPointErrorPx: number | null;
  /** The same for pixels that were matched, not filled; absent from matchers without confidence. */
  matchedDensity?: number | null;
  matchedEndPointErrorPx?: number | null;
};

export interface Measured {
  measures: MeasureScores;
  /** By mask. */
  estimates: Record<string, Estimates>;
}

/** Removes the estimates that were filled in: their confidence is 0. */
const onlyMatched = (disparityQ4: Int16Array, confidence: Uint8Array): Int16Array =>
  disparityQ4.map((value, i) => (confidence[i] === 0 ? INVALID_DISPARITY_Q4 : value));

/** Scores every mask by the measures of the scene's benchmark, or by the common ones. */
export function measureScene(scene: Scene, disparityQ4: Int16Array, confidence?: Uint8Array): Measured {
  const matchedQ4 = confidence && onlyMatched(disparityQ4, confidence);
  const { truth, measures: own = COMMON_MEASURES, pixelScale = 1 } = scene;
  const scaled = (error: number | null) => (error === null ? null : error * pixelScale);
  const measures: MeasureScores = {};
  const estimates: Record<string, Estimates> = {};
  for (const [mask, pixels] of [["all", undefined] as const, ...scene.masks]) {
    measures[mask] = {};
    for (const { name, thresholdPx, share } of own) {
      const { badPercent, badPercentValidOnly } = score(disparityQ4, truth, pixels, thresholdPx, share);
      const matched = matchedQ4 && score(matchedQ4, truth, pixels, thresholdPx, share);
      measures[mask][name] = {
        badPercent,
        badPercentValidOnly,
        ...(matched && { badPercentMatched: matched.badPercentValidOnly }),
      };
    }
    const all = score(disparityQ4, truth, pixels, 0);
    const matched = matchedQ4 && score(matchedQ4, truth, pixels, 0);
    estimates[mask] = {
      density: all.density,
      endPointErrorPx: scaled(all.averageErrorPx),
      ...(matched && {
        matchedDensity: matched.density,
        matchedEndPointErrorPx: scaled(matched.averageErrorPx),
      }),
    };
  }
  return { measures, estimates };
}

const digits = (value: number | null | undefined, count: number) => value?.toFixed(count) ?? "-";

/**
 * Returns rows for a person, headings first: every pixel of a mask, then its estimated pixels unless all are, then its matched ones.
 * @param scenes scenes and their mean
 */
export function measuresTable(scenes: readonly ({ name: string } & Measured)[]): string[][] {
  const names = [
    ...new Set(scenes.flatMap(({ measures }) => Object.values(measures).flatMap((of) => Object.keys(of)))),
  ];
  const rows = scenes.flatMap(({ name, measures, estimates }) =>
    Object.entries(measures).flatMap(([mask, scores]) => {
      const { density, endPointErrorPx, matchedDensity, matchedEndPointErrorPx } = estimates[mask]!;
      const row = (
        pixels: string,
        key: keyof MeasureScore,
        share: number | null | undefined,
        error?: number | null,
      ) => [
        ...[name, mask, pixels],
        ...names.map((measure) => digits(scores[measure]?.[key], 2)),
        ...[digits(share, 1), digits(error, 2)],
      ];
      return [
        row("every", "badPercent", density, endPointErrorPx),
        ...(density === 100 ? [] : [row("estimated", "badPercentValidOnly", density, endPointErrorPx)]),
        ...(matchedDensity === undefined
          ? []
          : [row("matched", "badPercentMatched", matchedDensity, matchedEndPointErrorPx)]),
      ];
    }),
  );
  return [["scene", "mask", "pixels", ...names.map((name) => `${name} %`), "density %", "error px"], ...rows];
}
