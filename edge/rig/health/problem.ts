// SPDX-License-Identifier: Apache-2.0
// What is wrong with the images of a pair where they say nothing about the rig: flat, out of focus, swapped, unrelated.
import type { AlignmentLook } from "../../../camera/index.js";
import { ERROR_CATALOGUE, type ErrorCode, mean } from "../../../core/index.js";
import { typicalDisparity } from "./figures.js";

export interface PairProblem {
  code: ErrorCode;
  /** One clause. */
  text: string;
  hint: string;
}

export function problem(
  code: ErrorCode,
  text: string,
  hint: string = ERROR_CATALOGUE[code].hint,
): PairProblem {
  return { code, text, hint };
}

/** Corners below which an image is flat. */
const FEWEST_CORNERS = 30;
/** Features below which a pair says nothing, and their share of those that suit one rig. */
const FEWEST_FEATURES = 24;
const LEAST_SHARE = 0.4;
/** Edges of the sharper image may be so many times as sharp. */
const MAX_SHARPNESS_RATIO = 1.8;
/** What lies far away may have a disparity a little below 0 in a rig that is slightly off. */
const SWAPPED_PIXELS = -2;

/** @param disparityOffset of the rectification: 0 where both images have one principal point */
export function problemOf(looks: readonly AlignmentLook[], disparityOffset = 0): PairProblem | undefined {
  const average = (pick: (look: AlignmentLook) => number) => mean(looks.map(pick));
  const corners = [average((look) => look.leftCorners), average((look) => look.rightCorners)] as const;
  const sharpness = [average((look) => look.leftSharpness), average((look) => look.rightSharpness)] as const;
  const names = ["left", "right"] as const;
  const ratio = sharpness[0] / sharpness[1];
  const blurred = ratio < 1 / MAX_SHARPNESS_RATIO ? 0 : ratio > MAX_SHARPNESS_RATIO ? 1 : undefined;
  const edge = (side: 0 | 1) => `${(2 / sharpness[side]).toFixed(1)} pixels wide`;
  if (blurred !== undefined && sharpness[0] > 0 && sharpness[1] > 0) {
    const other = blurred === 0 ? 1 : 0;
    return problem(
      "PAIR_BLURRED",
      `the ${names[blurred]} image is out of focus: its edges are ${edge(blurred)}, those of the ${names[other]} one ${edge(other)}`,
    );
  }
  // The right one has a corner in each of smaller tiles.
  const flat = names.filter((_, side) => corners[side]! < FEWEST_CORNERS * (side === 0 ? 1 : 2));
  if (flat.length > 0) {
    const which = flat.length === 2 ? "both images are" : `the ${flat[0]} image is`;
    const found = names
      .map((name, side) => `${Math.round(corners[side]!)} corners in the ${name} one`)
      .join(", ");
    return problem("PAIR_FEATURELESS", `${which} flat: ${found}`);
  }
  const features = average((look) => look.features);
  const kept = average((look) => look.kept);
  if (kept < FEWEST_FEATURES || kept < LEAST_SHARE * features) {
    const found = `${Math.round(corners[0])} corners of the left image, ${Math.round(features)} found in the right one`;
    return problem(
      "PAIR_UNRELATED",
      `the images do not show the same scene: of ${found}, ${Math.round(kept)} suit one position of the cameras`,
    );
  }
  if (typicalDisparity(looks) + disparityOffset < SWAPPED_PIXELS) {
    const disparity = typicalDisparity(looks).toFixed(0);
    return problem(
      "PAIR_SWAPPED",
      `left and right are swapped, or both images are mirrored: disparities are negative, ${disparity} pixels in the middle`,
    );
  }
  return undefined;
}
