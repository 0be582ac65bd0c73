// SPDX-License-Identifier: Apache-2.0
// Settings of what is computed: matching, refinement and the engine that runs them.
import { z } from "zod";
import { section, setting } from "./setting.js";

export const matchSection = section(
  "Stereo matching. A disparity is x in the left image minus x in the right.",
  {
    algorithm: setting(z.enum(["sgm", "cbca"]), {
      default: "sgm",
      description: "The matcher: sgm is semi-global matching, cbca aggregates over crosses of similar grey.",
    }),
    cost: setting(z.enum(["twoGradientCensus", "gradientCensus", "census"]), {
      default: "twoGradientCensus",
      description:
        "What is compared: eight signs beside both gradients, a 5 x 5 census beside the horizontal gradient, or the 9 x 7 census of the paper alone.",
    }),
    halfResolution: setting(z.union([z.literal("auto"), z.boolean()]), {
      default: "auto",
      description:
        "Matches at half the width and height, with half the disparities, and doubles the result; auto does so for cbca only.",
    }),
    minDisparity: setting(z.int().min(0).max(2039), {
      default: 0,
      unit: "px",
      description: "Smallest disparity searched; more than 0 leaves out what is far away.",
    }),
    numDisparities: setting(z.int().min(8).max(512), {
      default: 64,
      unit: "px",
      description:
        "Disparities searched, from minDisparity on; more of them see nearer and cost time in proportion.",
    }),
    paths: setting(z.literal([2, 4, 8]), {
      default: 4,
      description: "Directions along which costs are aggregated; more are smoother and slower.",
    }),
    p1: setting(z.int().min(1).max(1023), {
      default: 10,
      unit: "cost",
      description: "Penalty of a disparity step of one pixel; at most p2.",
    }),
    p2: setting(z.int().min(1).max(1023), {
      default: 34,
      unit: "cost",
      description: "Penalty of a larger step; up to 127 a cell of two summed directions fits one byte.",
    }),
    adaptiveP2: setting(z.int().min(0).max(255), {
      default: 4,
      description:
        "Lowers p2 at edges: max(p1, p2 - (adaptiveP2 x grey difference) / 16); 0 switches it off.",
    }),
    uniqueness: setting(z.int().min(0).max(99), {
      default: 8,
      unit: "%",
      description:
        "How much worse every rival of the winner must be, else the pixel is invalid; 0 switches it off.",
    }),
    outsideCost: setting(z.int().min(0).max(63), {
      default: 8,
      unit: "cost",
      description:
        "Cost of a candidate outside the right image; where it wins, the pixel is a hole. With 63 it never wins.",
    }),
    subpixel: setting(z.boolean(), {
      default: true,
      description: "Interpolates the winner to 1/16 px.",
    }),
  },
  "live",
);

export const regionSection = section(
  "Region of interest in the rectified images: only it is matched, everything else is published as invalid.",
  {
    x: setting(z.int().min(0).max(16_383), { default: 0, unit: "px", description: "Its first column." }),
    y: setting(z.int().min(0).max(16_383), { default: 0, unit: "px", description: "Its first row." }),
    width: setting(z.int().min(0).max(16_384), {
      default: 0,
      unit: "px",
      description: "Its columns; 0 is all from x on.",
    }),
    height: setting(z.int().min(0).max(16_384), {
      default: 0,
      unit: "px",
      description: "Its rows; 0 is all from y on.",
    }),
  },
  "live",
);

export const refineSection = section(
  "What is done to the disparities after matching.",
  {
    leftRight: setting(z.boolean(), {
      default: true,
      description: "Drops pixels whose disparity seen from the right eye differs by more than 1 px.",
    }),
    speckleSize: setting(z.int().min(0).max(1_000_000), {
      default: 60,
      unit: "pixels",
      description: "Connected regions smaller than this become invalid; 0 switches it off.",
    }),
    speckleRange: setting(z.number().min(0).max(128), {
      default: 0.75,
      unit: "px",
      description: "Largest disparity step between neighbours of one region, rounded to 1/16 px.",
    }),
    fill: setting(z.enum(["background", "bilateral", "off"]), {
      default: "background",
      description:
        "Fills what has no match: background as an occlusion does, bilateral by grey value (paper 001); confidence stays 0.",
    }),
    fillThreshold: setting(z.number().min(0).max(2047), {
      default: 6,
      unit: "px",
      description: "Largest difference of a hole's two sides that is bridged by a straight line.",
    }),
    boundary: setting(z.boolean(), {
      default: true,
      description: "Moves disparity edges onto the grey edges beside them.",
    }),
    median: setting(z.boolean(), {
      default: true,
      description: "3x3 median of the disparities, the last step.",
    }),
  },
  "live",
);

export const engineSection = section("The engine that computes frames.", {
  backend: setting(z.enum(["auto", "cpu", "cuda"]), {
    default: "auto",
    description:
      "auto takes CUDA where it works and says why not elsewhere; an explicit choice is never replaced.",
  }),
  threads: setting(z.int().min(0).max(256), {
    default: 0,
    description: "Worker threads of the CPU backend; 0 is one per online core.",
  }),
});
