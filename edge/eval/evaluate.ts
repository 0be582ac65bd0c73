// SPDX-License-Identifier: Apache-2.0
// Evaluates one configuration on scenes: match each, score it mask by mask, average.
import type { Scene } from "./dataset.js";
import { type DensityCurve, densityCurve, meanCurve } from "./density-curve.js";
import { meanFigures } from "./mean-figures.js";
import { type Measured, measureScene } from "./measures.js";
import { meanScores, middleburyV2Mean, type Score, scoreScene } from "./score.js";

export interface SceneResult extends Measured {
  name: string;
  /** "valid" (every pixel with a ground truth), then the scene's own masks. */
  masks: Record<string, Score>;
  /** Median time of one frame from submission to result, milliseconds. */
  milliseconds: number;
  thresholdPx: number;
  width: number;
  height: number;
  numDisparities: number;
  /** Error by density at thresholdPx; absent from matchers without confidence. */
  densityCurve?: DensityCurve;
}

export interface Evaluation {
  scenes: SceneResult[];
  /** The mean of the measures has the benchmark's weights. */
  mean: Measured & {
    masks: Record<string, Score>;
    milliseconds: number;
    /** Mean of nonocc, all and disc over the scenes that have all three; null where none has. */
    middleburyV2BadPercent: number | null;
    /** Absent unless every scene has one. */
    densityCurve?: DensityCurve;
  };
}

/** A matcher's result for one scene. */
export interface Matched {
  /** 1/16 px, -32768 = none, [height][width]. */
  disparityQ4: Int16Array;
  /** 0 to 255, 0 where nothing was matched; absent from matchers that have none. */
  confidence?: Uint8Array;
  milliseconds: number;
  numDisparities: number;
}

export type MatchScene = (scene: Scene) => Promise<Matched>;

/**
 * @param thresholdPx instead of each scene's own
 * @param onScene called before each scene is matched
 */
export async function evaluate(
  scenes: readonly Scene[],
  match: MatchScene,
  thresholdPx?: number,
  onScene?: (scene: Scene, index: number) => void,
): Promise<Evaluation> {
  const results: SceneResult[] = [];
  const measured: { figures: Measured; weight: number }[] = [];
  for (const [index, scene] of scenes.entries()) {
    onScene?.(scene, index);
    const { disparityQ4, confidence, milliseconds, numDisparities } = await match(scene);
    const threshold = thresholdPx ?? scene.badThresholdPx;
    const { name, width, height } = scene;
    const measures = measureScene(scene, disparityQ4, confidence);
    measured.push({ figures: measures, weight: scene.weight ?? 1 });
    results.push({
      name,
      masks: scoreScene(scene, disparityQ4, threshold),
      milliseconds,
      thresholdPx: threshold,
      width,
      height,
      numDisparities,
      ...measures,
      ...(confidence && { densityCurve: densityCurve(scene, disparityQ4, confidence, threshold) }),
    });
  }
  const scores = results.map(({ masks }) => masks);
  const milliseconds = results.reduce((sum, result) => sum + result.milliseconds, 0) / results.length;
  const curves = results.flatMap(({ densityCurve }) => densityCurve ?? []);
  return {
    scenes: results,
    mean: {
      masks: meanScores(scores),
      milliseconds,
      middleburyV2BadPercent: middleburyV2Mean(scores),
      ...meanFigures(measured),
      ...(curves.length === results.length && { densityCurve: meanCurve(curves) }),
    },
  };
}

const number = (value: number | null, digits: number) => (value === null ? "-" : value.toFixed(digits));

function scoreCells({ badPercent, badPercentValidOnly, density, averageErrorPx }: Score): string[] {
  return [
    number(badPercent, 2),
    number(badPercentValidOnly, 2),
    number(density, 1),
    number(averageErrorPx, 2),
  ];
}

/** Rows for a person, headings first: a row per scene and mask, then the means. */
export function evaluationTable({ scenes, mean }: Evaluation): string[][] {
  const rows = [["scene", "mask", "threshold px", "% bad", "% bad of valid", "density %", "error px", "ms"]];
  for (const { name, masks, milliseconds, thresholdPx } of scenes) {
    for (const [mask, scores] of Object.entries(masks)) {
      rows.push([name, mask, String(thresholdPx), ...scoreCells(scores), number(milliseconds, 1)]);
    }
  }
  const thresholds = [...new Set(scenes.map(({ thresholdPx }) => String(thresholdPx)))].join(", ");
  for (const [mask, scores] of Object.entries(mean.masks)) {
    rows.push(["mean", mask, thresholds, ...scoreCells(scores), number(mean.milliseconds, 1)]);
  }
  return rows;
}
