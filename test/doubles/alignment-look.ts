// SPDX-License-Identifier: Apache-2.0
// Constructs looks at a pair whose fit is known without solving equations.
import { ALIGNMENT_TERMS, type AlignmentLook, type AlignmentTerm } from "../../camera/index.js";

const DEGREES = 180 / Math.PI;

/**
 * Returns a look whose terms do not depend on each other: the angle of each is target / weight, and its variance that of a
 * twentieth of a row / weight, with 0.005 degrees of shared error.
 */
export function alignmentLook(
  degrees: Partial<Record<AlignmentTerm, number>> = {},
  weight = 1e4,
  more: Partial<AlignmentLook> = {},
): AlignmentLook {
  const products: number[] = [];
  const targets: number[] = [];
  for (const [i, term] of ALIGNMENT_TERMS.entries()) {
    for (let j = i; j < ALIGNMENT_TERMS.length; j++) products.push(i === j ? weight : 0);
    targets.push(((degrees[term] ?? 0) / DEGREES) * weight);
  }
  return {
    meanRows: 0,
    p95Rows: 0,
    medianDisparity: 20,
    smallestDisparity: 5,
    cpuMs: 1,
    leftCorners: 90,
    rightCorners: 90,
    features: 80,
    kept: 80,
    leftSharpness: 1,
    rightSharpness: 1,
    leftContrast: 50,
    rightContrast: 50,
    weight: 80,
    squares: 0,
    products,
    targets,
    ...more,
  };
}
