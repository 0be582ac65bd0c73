// SPDX-License-Identifier: Apache-2.0
// From the sums of one or several looks to angles, rows and how sure they are.
import { ALIGNMENT_TERMS, type AlignmentLook, type AlignmentTerm } from "../../../camera/index.js";

const TERMS = ALIGNMENT_TERMS.length;
const DEGREES = 180 / Math.PI;

/** Standard deviations before the first feature, radians (of scale: a share). As in camera/rig/alignment/fit.h. */
const PRIORS: Record<AlignmentTerm, number> = {
  pitch: 0.1,
  roll: 0.1,
  scale: 0.02,
  yaw: 0.02,
  baselineRoll: 0.01,
  baselineYaw: 0.01,
};
/** Features of one frame err together where their patches are alike, so no sum is surer than this. */
const SUREST = 0.005 / DEGREES;

export interface Quantity {
  value: number;
  /** One standard deviation, of chance alone. */
  deviation: number;
}

/** The rectified view that the angles hold for. */
export interface AlignmentView {
  width: number;
  height: number;
  focalPixels: number;
  cx: number;
  cy: number;
}

/** The right camera against where the calibration says it is. Angles turn it about x (right), y (down) and z (ahead). */
export interface Alignment {
  /** Radians. */
  terms: Record<AlignmentTerm, Quantity>;
  /** Features of all looks that were kept. */
  features: number;
  /** Standard deviation of the features' rows about the fit, pixels. */
  residualRows: number;
}

/** Inverse of a symmetric positive definite matrix, by Gauss and Jordan; undefined where it is singular. */
function invertMatrix(matrix: readonly (readonly number[])[]): number[][] | undefined {
  const size = matrix.length;
  const rows = matrix.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1 : 0))]);
  for (let i = 0; i < size; i++) {
    const pivot = rows[i]![i]!;
    if (!(Math.abs(pivot) > 1e-14)) return undefined;
    rows[i] = rows[i]!.map((value) => value / pivot);
    for (let k = 0; k < size; k++) {
      if (k === i) continue;
      const factor = rows[k]![i]!;
      rows[k] = rows[k]!.map((value, j) => value - factor * rows[i]![j]!);
    }
  }
  return rows.map((row) => row.slice(size));
}

/** Joins looks at the same rig. @returns undefined where they have too few features */
export function estimateAlignment(
  looks: readonly AlignmentLook[],
  { focalPixels }: Pick<AlignmentView, "focalPixels">,
): Alignment | undefined {
  const features = looks.reduce((sum, { kept }) => sum + kept, 0);
  const weight = looks.reduce((sum, look) => sum + look.weight, 0);
  if (features < 12 || !(weight > TERMS)) return undefined;
  const sums = Array.from({ length: TERMS }, () => new Array<number>(TERMS).fill(0));
  const targets = new Array<number>(TERMS).fill(0);
  let squares = 0;
  for (const look of looks) {
    let at = 0;
    for (let i = 0; i < TERMS; i++) {
      for (let j = i; j < TERMS; j++, at++) {
        sums[i]![j]! += look.products[at]!;
        if (j > i) sums[j]![i]! += look.products[at]!;
      }
      targets[i]! += look.targets[i]!;
    }
    squares += look.squares;
  }
  // Every feature is as sure as the features turn out to be, and no surer than a twentieth of a row.
  const deviation = Math.max(Math.sqrt(squares / weight), 0.05 / focalPixels);
  for (const [i, term] of ALIGNMENT_TERMS.entries()) sums[i]![i]! += (deviation / PRIORS[term]) ** 2;
  const inverse = invertMatrix(sums);
  if (inverse === undefined) return undefined;
  const terms = {} as Record<AlignmentTerm, Quantity>;
  for (const [i, term] of ALIGNMENT_TERMS.entries()) {
    const value = inverse[i]!.reduce((sum, factor, j) => sum + factor * targets[j]!, 0);
    terms[term] = { value, deviation: Math.hypot(deviation * Math.sqrt(inverse[i]![i]!), SUREST) };
  }
  return { terms, features, residualRows: Math.sqrt(squares / weight) * focalPixels };
}

/** Rows by which the right image lies lower than the left one at (x, y) of it, for what has that disparity. */
export function rowsAt(
  { terms }: Alignment,
  { focalPixels, cx, cy }: AlignmentView,
  place: { x: number; y: number; disparity: number },
): number {
  const u = (place.x - cx) / focalPixels;
  const v = (place.y - cy) / focalPixels;
  const q = place.disparity / focalPixels;
  const { pitch, roll, scale, yaw, baselineRoll, baselineYaw } = terms;
  const turned = -pitch.value * (1 + v * v) + roll.value * u + scale.value * v + yaw.value * u * v;
  return focalPixels * (turned + baselineRoll.value * q + baselineYaw.value * v * q);
}
