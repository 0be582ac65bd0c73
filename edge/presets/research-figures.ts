// SPDX-License-Identifier: Apache-2.0
// The error of a preset on the research data, as every preset states it.
import type { Figure } from "./preset.js";

/** Percent bad, mean of the scenes of each set. */
export const researchFigures = (
  from: string,
  v2: number,
  third: number,
  motorcycle: number,
  kitti: number,
): Figure[] =>
  [
    ["Middlebury v2, off by more than 1 px, mean of nonocc, all and disc of four scenes", v2] as const,
    ["Middlebury 2005 and 2006, third size, off by more than 1 px, mean of six scenes", third] as const,
    ["MotorcycleQ of Middlebury 2014, off by more than 1 px", motorcycle] as const,
    ["KITTI 2015, nonocc, off by more than 3 px, mean of five scenes", kitti] as const,
  ].map(([of, value]) => ({ of, unit: "%", measured: { value, from } }));
