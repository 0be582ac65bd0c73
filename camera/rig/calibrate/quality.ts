// SPDX-License-Identifier: Apache-2.0
// Estimates the quality of a calibration: standard deviations, depth errors, rows of rectified corners, and warnings
// for the user.
import { hasCode } from "../../../core/index.js";
import { type Rectification, rectify, type StereoCalibration } from "../../calibration/index.js";
import type { Vector3 } from "../../calibration/matrix.js";
import type { CalibrateExports, LensModel, NativeSolution } from "./native.js";
import { pointsById, type SeenPair } from "./pairs.js";
import { pixelRay, rectifiedPoint } from "./rays.js";
import type { CalibrateOptions, CalibrationResult, DepthError } from "./result.js";
import { type Corner, pairSpecs, solve } from "./solve.js";

/** Pairs below which a warning says that more would help. */
const WANTED_PAIRS = 10;
const DEPTHS_METRES = [1, 3, 10];
/** Points on the left camera's axis whose depth error is reported. */
export const DEPTH_POINTS = DEPTHS_METRES.map((z): Vector3 => [0, 0, z]);
/** A lens model whose error is below this share of the other's suits the lens better; 0.94 was seen of one that does not. */
const BETTER_SHARE = 0.85;

/** Root of v' C v over a block of the covariance. */
function deviationAlong(solution: NativeSolution, first: number, direction: readonly number[]): number {
  const n = solution.parameters;
  let sum = 0;
  direction.forEach((a, i) => {
    direction.forEach((b, j) => {
      sum += a * b * solution.covariance[(first + i) * n + first + j]!;
    });
  });
  return Math.sqrt(Math.max(sum, 0));
}

export function standardDeviations(solution: NativeSolution): CalibrationResult["deviations"] {
  const { covariance, parameters, lenses, rigs } = solution;
  if (covariance.length === 0) return undefined;
  const second = lenses[0]!.length;
  const rig = second + lenses[1]!.length;
  const variance = (at: number) => Math.max(covariance[at * parameters + at]!, 0);
  const { translation } = rigs[0]!;
  const length = Math.hypot(...translation);
  return {
    leftFocalPixels: Math.sqrt(variance(0)),
    rightFocalPixels: Math.sqrt(variance(second)),
    baselineMetres: deviationAlong(
      solution,
      rig + 3,
      [...translation].map((t) => t / length),
    ),
    rotationDegrees: (Math.sqrt(variance(rig) + variance(rig + 1) + variance(rig + 2)) * 180) / Math.PI,
  };
}

/** Rows of the same corner in both rectified images, left minus right, of one pair. */
export function rowDifferences(
  pair: SeenPair,
  calibration: StereoCalibration,
  rectification: Rectification,
  count: number,
): number[] {
  const [left, right] = [pointsById(pair.left, count), pointsById(pair.right, count)];
  const out: number[] = [];
  for (let id = 0; id < count; id++) {
    const row = (side: "left" | "right", points: Float64Array) =>
      rectifiedPoint(calibration[side], rectification, side, points[2 * id]!, points[2 * id + 1]!)[1];
    const difference = row("left", left) - row("right", right);
    if (Number.isFinite(difference)) out.push(difference);
  }
  return out;
}

/** Undefined where a lens bends too far for one flat image. */
export function tryRectify(calibration: StereoCalibration): Rectification | undefined {
  try {
    return rectify(calibration);
  } catch (error) {
    if (!hasCode(error, "CALIBRATION_INVALID")) throw error;
    return undefined;
  }
}

export function estimateDepthErrors({ depthDeviations }: NativeSolution): DepthError[] {
  return DEPTHS_METRES.map((depthMetres, at) => {
    const calibrationMetres = depthDeviations[2 * at]!;
    const matchingMetres = depthDeviations[2 * at + 1]!;
    return {
      depthMetres,
      calibrationMetres,
      matchingMetres,
      totalMetres: Math.hypot(calibrationMetres, matchingMetres),
    };
  });
}

/** Returns a warning if the other kind of lens fits the same corners better. */
export async function betterLens(
  native: CalibrateExports,
  corners: readonly Corner[],
  views: number,
  options: CalibrateOptions,
  rmsPixels: number,
): Promise<string[]> {
  const others: Partial<Record<LensModel, LensModel>> = { radtan: "fisheye", fisheye: "radtan" };
  const other = others[options.lens];
  if (other === undefined || options.compareLenses !== true) return [];
  try {
    const how = { robust: false, cameras: pairSpecs({ ...options, lens: other }) };
    const tried = await solve(native, corners, views, options, how);
    if (!(tried.rmsPixels < BETTER_SHARE * rmsPixels)) return [];
    const kind = other === "fisheye" ? "a wide lens" : "no fisheye lens";
    return [
      `this looks like ${kind}: its corners fit within ${rmsPixels.toFixed(3)} px as ${options.lens} and within ` +
        `${tried.rmsPixels.toFixed(3)} px as ${other}, so calibrate with --lens ${other}`,
    ];
  } catch (error) {
    if (!hasCode(error, "CALIBRATION_DOUBTFUL")) throw error;
    return [];
  }
}

/** Undefined where they are as near as the corners are. */
export function whyRowsApart(epipolarRmsPixels: number | undefined, rmsPixels: number): string | undefined {
  if (epipolarRmsPixels === undefined || epipolarRmsPixels <= 2 * rmsPixels + 0.5) return undefined;
  return (
    `the rows of rectified corners are ${epipolarRmsPixels.toFixed(1)} px apart, though the corners fit within ` +
    `${rmsPixels.toFixed(2)} px: the lens model turns back before the border of the image, so try --lens fisheye or rational`
  );
}

/** Returns a warning if corners lie where the lens model has no ray; fisheye has none beyond 86 degrees. */
export function whyWithoutRay(
  pairs: readonly SeenPair[],
  calibration: StereoCalibration,
  lens: LensModel,
): string | undefined {
  if (lens === "fisheye") return undefined;
  let lost = 0;
  for (const pair of pairs)
    for (const side of ["left", "right"] as const) {
      const { ids, points } = pair[side];
      ids.forEach((_, at) => {
        const [x] = pixelRay(calibration[side], points[2 * at]!, points[2 * at + 1]!);
        if (Number.isNaN(x)) lost++;
      });
    }
  if (lost === 0) return undefined;
  return (
    `${lost} corners have no ray, though the corners fit: ` +
    "the lens model turns back before the border of the image, so try --lens fisheye or rational"
  );
}

export function calibrationWarnings(
  used: number,
  coverage: CalibrationResult["coverage"],
  deviations: CalibrationResult["deviations"],
  calibration: StereoCalibration,
): string[] {
  const warnings: string[] = [];
  if (used < WANTED_PAIRS)
    warnings.push(
      `only ${used} pairs were used: ${WANTED_PAIRS} to 30 in different places and tilts are better`,
    );
  for (const side of ["left", "right"] as const) {
    const { share } = coverage[side];
    if (share < 0.6) {
      warnings.push(
        `the board was seen in ${Math.round(share * 100)} % of the ${side} image only: hold it into the corners too`,
      );
    }
  }
  const focal = calibration.left.K[0];
  if (deviations === undefined) warnings.push("the pairs do not determine every number: tilt the board more");
  else if (deviations.leftFocalPixels > 0.005 * focal) {
    const percent = ((deviations.leftFocalPixels / focal) * 100).toFixed(2);
    warnings.push(
      `the focal length is known to ${percent} % only: tilt the board up to 45 degrees in both directions`,
    );
  }
  return warnings;
}
