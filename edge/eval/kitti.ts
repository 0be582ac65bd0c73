// SPDX-License-Identifier: Apache-2.0
// KITTI stereo 2012 and 2015: training/ with two folders of images and two of disparity maps (16-bit PNG, 1/256 px, 0 = none).
import { join } from "node:path";
import { exists, namesIn } from "./folders.js";
import type { MaskFile, Measure, SceneEntry } from "./scene-entry.js";

interface Layout {
  /** Folders of the left and the right images; the first pair that exists is read. */
  images: readonly (readonly [left: string, right: string])[];
  /** Folders of the ground truth: all pixels, and pixels that both cameras see. */
  all: string;
  noc: string;
  /** 0 is background, other values are objects. */
  objects?: string;
}

const LAYOUTS: readonly Layout[] = [
  { images: [["image_2", "image_3"]], all: "disp_occ_0", noc: "disp_noc_0", objects: "obj_map" },
  {
    images: [
      ["colored_0", "colored_1"],
      ["image_0", "image_1"],
    ],
    all: "disp_occ",
    noc: "disp_noc",
  },
];

/** A 16-bit PNG of 1/256 px holds disparities up to 255. */
const NUM_DISPARITIES = 256;
const UNITS_PER_PIXEL = 256;
const BAD_PX = 3;

const MEASURES: readonly Measure[] = [
  { name: "D1", thresholdPx: BAD_PX, share: 0.05 },
  ...[2, 3, 4, 5].map((thresholdPx) => ({ name: `bad ${thresholdPx}`, thresholdPx })),
];

const isZero = (value: number) => value === 0;
const isNotZero = (value: number) => value !== 0;

/** @returns undefined for a folder without these folders */
export async function readKitti(folder: string): Promise<SceneEntry[] | undefined> {
  const inner = (await exists(folder, "training")) ? join(folder, "training") : folder;
  for (const { images, all, noc, objects } of LAYOUTS) {
    const names = (await namesIn(join(inner, all))).filter((name) => name.endsWith("_10.png"));
    if (names.length === 0) continue;
    let pair = images.at(-1)!;
    for (const other of [...images].reverse()) if (await exists(inner, other[0])) pair = other;
    const [left, right] = pair;
    const hasObjects = objects !== undefined && (await exists(inner, objects));
    return names.map((name) => {
      const masks: Record<string, MaskFile> = { noc: { path: join(noc, name), counts: isNotZero } };
      if (hasObjects) {
        masks.background = { path: join(objects, name), counts: isZero };
        masks.objects = { path: join(objects, name), counts: isNotZero };
      }
      return {
        folder: inner,
        name: name.replace(/\.png$/, ""),
        left: join(left, name),
        right: join(right, name),
        groundTruth: { path: join(all, name), scale: UNITS_PER_PIXEL, invalid: 0 },
        masks,
        numDisparities: NUM_DISPARITIES,
        badThresholdPx: BAD_PX,
        measures: MEASURES,
      };
    });
  }
  return undefined;
}
