// SPDX-License-Identifier: Apache-2.0
// Defines dataset.json, and a scene of any data set.
import { z } from "zod";

const sceneSchema = z.looseObject({
  name: z.string().min(1),
  left: z.string().min(1),
  right: z.string().min(1),
  groundTruth: z.looseObject({
    path: z.string().min(1),
    /** disparity = stored value / scale. */
    scale: z.number().positive(),
    /** The stored value that means no value; "inf": any value that is not finite. */
    invalid: z.union([z.number(), z.literal("inf")]),
  }),
  masks: z.record(z.string(), z.string()).optional(),
  numDisparities: z.int().min(1).max(512),
  badThresholdPx: z.number().positive().optional(),
});
export const datasetSchema = z.looseObject({
  name: z.string().optional(),
  scenes: z.array(sceneSchema).min(1),
});

/** A measure of a benchmark. A pixel is bad if its error exceeds both limits. */
export interface Measure {
  /** As the benchmark calls it. */
  name: string;
  thresholdPx: number;
  /** Share of the true disparity; absent: the threshold alone decides. */
  share?: number;
}

/** A mask with its own rule. */
export interface MaskFile {
  path: string;
  /** Returns whether a pixel with this stored value is evaluated. */
  counts: (value: number) => boolean;
}

/** One scene of a data set, with its folder. */
export interface SceneEntry {
  folder: string;
  name: string;
  left: string;
  right: string;
  /** As readDisparity takes them. */
  groundTruth: { path: string; scale: number; invalid: number | "inf" | "+inf" };
  /** By name: the path of a mask whose pixels of 255 are evaluated, or a mask with another rule. */
  masks?: Record<string, string | MaskFile> | undefined;
  numDisparities: number;
  badThresholdPx?: number | undefined;
  measures?: readonly Measure[];
  weight?: number;
  /** Pixels of the benchmark's full size per pixel of the images, 1 by default. */
  pixelScale?: number;
}
