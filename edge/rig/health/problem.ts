// SPDX-License-Identifier: Apache-2.0
// Detects problems of a pair's images that say nothing about the rig: flat, out of focus, swapped, unrelated.
import type { AlignmentLook } from "../../../camera/index.js";
import { ERROR_CATALOGUE, type ErrorCode, mean } from "../../../core/index.js";
import { typicalDisparity } from "./figures.js";
import type { LookGeometry } from "./look-options.js";

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
/** Features below which a pair says nothing, and their share of the ones that suit one rig. */
const FEWEST_FEATURES = 24;
const LEAST_SHARE = 0.4;
/** A repeated pattern such as a chessboard pairs many features wrongly: so many that suit one rig are no chance. */
const MANY_FEATURES = 48;
const LEAST_SHARE_OF_MANY = 0.25;
/** Features, and their share of the corners, from which on the images show one scene: two scenes share a tenth at most by chance. */
const ONE_SCENE_FEATURES = 48;
const ONE_SCENE_SHARE = 0.15;
/** Largest ratio of the sharpness of edges between the two images. */
const MAX_SHARPNESS_RATIO = 1.8;
/** Distant objects may have a disparity a little below 0 in a rig that is slightly off. */
const SWAPPED_PIXELS = -2;

/**
 * Returns the problem of the images, if any.
 * @param rectification disparityOffset is 0 if both images have one principal point
 */
export function findProblem(
  looks: readonly AlignmentLook[],
  { disparityOffset, calibrated }: Pick<LookGeometry, "disparityOffset" | "calibrated">,
): PairProblem | undefined {
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
  const leastShare = kept < MANY_FEATURES ? LEAST_SHARE : LEAST_SHARE_OF_MANY;
  if (kept < FEWEST_FEATURES || kept < leastShare * features) {
    const found = `of ${Math.round(corners[0])} corners of the left image, ${Math.round(features)} found in the right one, ${Math.round(kept)} suit one position of the cameras`;
    const isOneScene = features >= ONE_SCENE_FEATURES && features >= ONE_SCENE_SHARE * corners[0];
    if (isOneScene && !calibrated)
      return problem("PAIR_UNRECTIFIED", `the images are not rectified: ${found}`);
    return problem(
      "PAIR_UNRELATED",
      isOneScene
        ? `the images do not suit the calibration: ${found}`
        : `the images do not show the same scene${calibrated ? "" : ", or are far from rectified"}: ${found}`,
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
