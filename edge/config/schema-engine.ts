// SPDX-License-Identifier: Apache-2.0
// Settings of what is computed: matching, refinement and the engine that runs them.
import { z } from "zod";
import {
  ALGORITHMS,
  type Algorithm,
  CONFIDENCE_MEASURES,
  MATCHERS,
  type MatcherParameter,
} from "../../cuda/index.js";
import { section, setting, type SettingValue } from "./setting.js";

function typeOf(parameter: MatcherParameter): z.ZodType<SettingValue> {
  switch (parameter.kind) {
    case "whole": {
      const whole = z.int().min(parameter.low).max(parameter.high);
      return parameter.defaultAtHalf === undefined ? whole : z.union([z.literal("auto"), whole]);
    }
    case "oneOf":
      return z.literal([...parameter.choices]);
    case "word":
      return z.enum([...parameter.choices]);
    case "flag":
      return z.boolean();
  }
}

function matcherSetting(parameter: MatcherParameter): z.ZodType<SettingValue> {
  const { description, unit } = parameter;
  const facts = { description, ...(unit !== undefined && { unit }) };
  if (parameter.kind !== "whole" || parameter.defaultAtHalf === undefined)
    return setting(typeOf(parameter), { ...facts, default: parameter.default });
  const auto = `auto is ${parameter.default}, at half resolution ${parameter.defaultAtHalf}`;
  return setting(typeOf(parameter), {
    ...facts,
    default: "auto",
    description: `${description.replace(/\.$/, "")}; ${auto}.`,
  });
}

type MatcherSection = z.ZodObject<Record<string, z.ZodType<SettingValue>>>;

/** Of each matcher one: its own parameters. */
const MATCHER_SECTIONS = Object.fromEntries(
  MATCHERS.map(({ name, parameters }) => [
    name,
    section(
      `What ${name} alone is told.`,
      Object.fromEntries(parameters.map((parameter) => [parameter.key, matcherSetting(parameter)])),
    ),
  ]),
) as unknown as Record<Algorithm, MatcherSection>;

const halved = MATCHERS.filter(({ halfByDefault }) => halfByDefault)
  .map(({ name }) => name)
  .join(", ");

export const matchSection = section(
  "Stereo matching. A disparity is x in the left image minus x in the right.",
  {
    algorithm: setting(z.enum(ALGORITHMS), {
      default: "sgm",
      description: `The matcher: ${MATCHERS.map(({ name, description }) => `${name} is ${description}`).join(", ")}.`,
    }),
    denoise: setting(z.enum(["auto", "off", "on"]), {
      default: "auto",
      takesEffect: "restart",
      description:
        "Filters noise out of the pair before it is matched, as much as it has; auto does so while that exceeds 2.75 grey values and is below 16, from where on it is texture.",
    }),
    halfResolution: setting(z.union([z.literal("auto"), z.boolean()]), {
      default: "auto",
      description: `Matches at half the width and height, with half the disparities, and doubles the result; auto does so for ${halved || "none"}.`,
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
    ...MATCHER_SECTIONS,
  },
  "live",
);

export const rectifySection = section("Rectification beside the calibration.", {
  verticalOffset: setting(z.union([z.literal("auto"), z.number().min(-16).max(16).multipleOf(0.25)]), {
    default: "auto",
    unit: "rows",
    expects: "auto or quarters of a row from -16 to 16",
    description:
      "Rows by which the right image lies lower than the left one, taken off; auto estimates them from the pairs, as a line over the columns where a camera is turned.",
  }),
});

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
      description: "Drops pixels whose disparity seen from the right image differs by more than 1 px.",
    }),
    confidence: setting(z.enum(CONFIDENCE_MEASURES), {
      default: "probability",
      description:
        "probability is how likely a matched pixel is right; the others are measures of Prehn 2007 and their product.",
    }),
    repair: setting(z.boolean(), {
      default: false,
      description: "Gives outliers the disparity of surer pixels on both sides within 10 px (Prehn 2007).",
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
        "Fills what has no match: background as an occlusion does, up to an edge of the picture where it is none, bilateral by grey value (paper 001); confidence stays 0.",
    }),
    fillThreshold: setting(z.number().min(0).max(2047), {
      default: 6,
      unit: "px",
      description: "Largest difference of a hole's two sides that is bridged by a straight line.",
    }),
    upscaleThreshold: setting(z.number().min(0).max(1023), {
      default: 3,
      unit: "px",
      description:
        "At half resolution: largest step between two pixels of the half map, in its pixels, that doubling bridges by their mean (T of paper 001).",
    }),
    boundary: setting(z.boolean(), {
      default: true,
      description: "Moves disparity edges onto the grey edges beside them.",
    }),
    median: setting(z.boolean(), {
      default: true,
      description: "3x3 median of the disparities, the last step.",
    }),
    rounds: setting(z.int().min(1).max(4), {
      default: 1,
      description: "How often refine.boundary and refine.median follow each other, where both are on.",
    }),
  },
  "live",
);

export const pointsSection = section(
  "Points in space, for the outputs that take them and for match -o FILE.ply.",
  {
    frame: setting(z.enum(["camera", "robot"]), {
      default: "camera",
      description:
        "camera is x right, y down, z ahead from the left camera; robot is x ahead, y left, z up from the middle of the baseline.",
    }),
    element: setting(z.enum(["float32", "int16"]), {
      default: "float32",
      description: "float32 is metres; int16 is millimetres, half the bytes, and no point beyond 32.767 m.",
    }),
    colour: setting(z.enum(["grey", "rgb"]), {
      default: "grey",
      description: "What each point has beside its place; rgb needs a left camera with colours.",
    }),
  },
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
