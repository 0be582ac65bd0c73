// SPDX-License-Identifier: Apache-2.0
// Calibrates cameras next to the pair: adjusts each with the left camera alone, which finds wrong images and corners.
// calibrate.ts then adjusts all cameras together.
import { DepthwattError, median } from "../../../core/index.js";
import { cornerLimit, LEAST_PAIRS } from "./choose.js";
import type { CalibrateExports, NativeSolution } from "./native.js";
import { LEAST_POINTS, type SeenPair, sameOrder } from "./pairs.js";
import type { CalibrateOptions, OtherCameraOptions, OtherCameraResult } from "./result.js";
import { boardDistances, type Corner, cornersOf, rms, solve } from "./solve.js";

function tooFewImages(name: string, usable: number, of: number, why: string): DepthwattError {
  return new DepthwattError(
    "CALIBRATION_TOO_FEW",
    `camera ${name}: expected the board in its images of at least ${LEAST_PAIRS} used pairs, ` +
      `found ${usable} of ${of}${why}`,
    {
      hint:
        "Hold the board where the pair and this camera see all of it, and give the files of one moment the same " +
        "number or time.",
      context: { camera: name, usable, pairs: of },
    },
  );
}

/** Corners of one camera by view, numbered as the left image numbers them; views whose board it lacks are absent. */
function cornersByView(
  pairs: readonly SeenPair[],
  { board }: CalibrateOptions,
  at: number,
): Map<number, Corner[]> {
  const views = new Map<number, Corner[]>();
  pairs.forEach((pair, view) => {
    const seen = pair.others?.[at];
    if (seen?.absence !== "none" || seen.ids.length < LEAST_POINTS) return;
    const ordered = sameOrder({ name: pair.name, left: pair.left, right: seen }, board);
    if (!("cause" in ordered)) views.set(view, cornersOf(ordered.right, view, 1));
  });
  return views;
}

/**
 * Chooses the corners of a camera: leaves out images whose board had moved, and corners far from where they should be.
 * @returns the corners as those of camera `2 + at`
 * @throws DepthwattError CALIBRATION_TOO_FEW, CALIBRATION_DOUBTFUL
 */
async function chooseCorners(
  native: CalibrateExports,
  pairs: readonly SeenPair[],
  options: CalibrateOptions,
  other: OtherCameraOptions,
  at: number,
): Promise<Corner[]> {
  const views = cornersByView(pairs, options, at);
  if (views.size < LEAST_PAIRS) throw tooFewImages(other.name, views.size, pairs.length, "");
  for (;;) {
    const left = [...views.keys()].flatMap((view) => cornersOf(pairs[view]!.left, view, 0));
    const corners = [...left, ...[...views.values()].flat()];
    const cameras = [{ lens: options.lens, imageSize: options.imageSize }, other];
    const distances = boardDistances(
      await solve(native, corners, pairs.length, options, { robust: true, cameras }),
    );
    const medians = new Map(
      [...views.keys()].map((view) => [
        view,
        median(distances.filter((_, index) => corners[index]!.view === view)),
      ]),
    );
    const usual = median([...medians.values()]);
    const misfits = [...medians].filter(
      ([, here]) => Number.isNaN(here) || here > Math.max(5 * usual, usual + 0.4),
    );
    if (misfits.length === 0) {
      const limit = cornerLimit(distances);
      return corners.flatMap((corner, index) =>
        corner.camera === 0 ? [] : [{ ...corner, camera: 2 + at, used: distances[index]! <= limit }],
      );
    }
    for (const [view] of misfits) views.delete(view);
    if (views.size < LEAST_PAIRS)
      throw tooFewImages(
        other.name,
        views.size,
        pairs.length,
        `: in ${misfits.length} the board is elsewhere than the left image shows it`,
      );
  }
}

/** Corners of all cameras next to the pair. */
export async function cornersOfOthers(
  native: CalibrateExports,
  pairs: readonly SeenPair[],
  options: CalibrateOptions,
): Promise<Corner[]> {
  const all: Corner[] = [];
  for (const [at, other] of (options.others ?? []).entries())
    all.push(...(await chooseCorners(native, pairs, options, other, at)));
  return all;
}

export function resultsOfOthers(
  solution: NativeSolution,
  corners: readonly Corner[],
  { others = [] }: CalibrateOptions,
): OtherCameraResult[] {
  const distances = boardDistances(solution);
  const { covariance, parameters, lenses } = solution;
  const deviation = (first: number) => Math.sqrt(Math.max(covariance[first * (parameters + 1)]!, 0));
  let first = lenses[0]!.length + lenses[1]!.length + 6;
  return others.map(({ name }, at) => {
    const own = corners.filter(({ camera }) => camera === 2 + at);
    const lens = first;
    const pose = lens + lenses[2 + at]!.length;
    first = pose + 6;
    return {
      name,
      images: new Set(own.map(({ view }) => view)).size,
      cornersLeftOut: own.filter(({ used }) => !used).length,
      rmsPixels: rms(
        distances.filter((_, index) => corners[index]!.camera === 2 + at && corners[index]!.used),
      ),
      deviations:
        covariance.length === 0
          ? undefined
          : {
              focalPixels: deviation(lens),
              positionMetres: Math.max(...[3, 4, 5].map((axis) => deviation(pose + axis))),
              rotationDegrees:
                (Math.hypot(...[0, 1, 2].map((axis) => deviation(pose + axis))) * 180) / Math.PI,
            },
    };
  });
}
