// SPDX-License-Identifier: Apache-2.0
// Rows of papers that measure on Middlebury v2: each scene searched over the benchmark's disparities, off by more than 1 px.
import { DepthwattError, mean } from "../../../core/index.js";
import type { Lab, Measured, Place, System } from "./lab.js";
import type { Row } from "./paper.js";

/** Number of disparities of each scene, in the order of the benchmark. */
const DISPARITIES = { tsukuba: 16, venus: 20, teddy: 60, cones: 60 } as const;
export type V2Scene = keyof typeof DISPARITIES;
export const V2_SCENES = Object.keys(DISPARITIES) as V2Scene[];
export const V2_MASKS = ["nonocc", "all", "disc"] as const;
export type V2Mask = (typeof V2_MASKS)[number];

export const v2Place = (scene: V2Scene): Place => ({
  folder: "midd_v2",
  scene,
  numDisparities: DISPARITIES[scene],
});

/** Percent of the pixels of a mask that are wrong; no estimate counts as wrong. */
export async function v2Error(lab: Lab, system: System, scene: V2Scene, mask: V2Mask): Promise<number> {
  const { masks } = await lab.match(system, v2Place(scene), { timed: false });
  const percent = masks[mask]?.badPercent ?? null;
  if (percent === null)
    throw new DepthwattError("DATASET_INVALID", `${scene}: expected a mask ${mask} with pixels, found none`);
  return percent;
}

/** The benchmark's one number: the mean over all scenes and masks. */
export async function v2Mean(lab: Lab, system: System): Promise<number> {
  const errors: number[] = [];
  for (const scene of V2_SCENES)
    for (const mask of V2_MASKS) errors.push(await v2Error(lab, system, scene, mask));
  return mean(errors);
}

/** Millions of disparities of the whole image a second. */
export const megaDisparities = ({ width, height, numDisparities, milliseconds }: Measured): number =>
  (width * height * numDisparities) / milliseconds / 1000;

/** The mean rate over some scenes. */
export async function v2Rate(lab: Lab, system: System, scenes: readonly V2Scene[]): Promise<number> {
  const rates: number[] = [];
  for (const scene of scenes) rates.push(megaDisparities(await lab.match(system, v2Place(scene))));
  return mean(rates);
}

/**
 * The rows of one line of the benchmark's table: twelve errors, their mean and the rate.
 * @param printed as the table prints them: nonocc, all and disc of each scene, the average, the rate
 * @param rateOf the scenes whose rates the paper averages
 */
export function v2Rows(
  name: string,
  system: System,
  printed: readonly number[],
  rateOf: readonly V2Scene[] = V2_SCENES,
): Row[] {
  const errors = V2_SCENES.flatMap((scene) => V2_MASKS.map((mask) => ({ scene, mask })));
  const [average, rate] = printed.slice(errors.length);
  return [
    ...errors.map(
      ({ scene, mask }, index): Row => ({
        name: `${name}, ${scene} ${mask}`,
        unit: "%",
        printed: printed[index]!,
        ours: (lab) => v2Error(lab, system, scene, mask),
      }),
    ),
    { name: `${name}, average`, unit: "%", printed: average!, ours: (lab) => v2Mean(lab, system) },
    { name: `${name}, rate`, unit: "MDE/s", printed: rate!, ours: (lab) => v2Rate(lab, system, rateOf) },
  ];
}
