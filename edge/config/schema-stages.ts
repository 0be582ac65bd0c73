// SPDX-License-Identifier: Apache-2.0
// Creates the settings of the computation from the facts of the matchers and stages (cuda/facts.ts), and those of the
// engine.
import { z } from "zod";
import {
  ALGORITHMS,
  type Algorithm,
  MATCHERS,
  type SectionSettings,
  type SettingFact,
  STAGE_SETTINGS,
} from "../../cuda/index.js";
import { type SettingValue, section, setting } from "../contracts/setting.js";

type SettingType = z.ZodType<SettingValue>;

function settingType(fact: SettingFact): SettingType {
  switch (fact.kind) {
    case "whole":
      return z.int().min(fact.low).max(fact.high);
    case "fraction": {
      const number = z.number().min(fact.low).max(fact.high);
      return fact.step === undefined ? number : number.multipleOf(fact.step);
    }
    case "oneOf":
      return z.literal([...fact.choices]);
    case "word":
      return z.enum([...fact.choices]);
    case "flag":
      return z.boolean();
  }
}

/** Words for a step that zod would print as a multiple. */
function expectedText(fact: SettingFact): { expects?: string } {
  if (fact.kind !== "fraction" || fact.step === undefined) return {};
  const range = `a multiple of ${fact.step} from ${fact.low} to ${fact.high}`;
  return { expects: fact.automatic ? `auto or ${range}` : range };
}

function buildSetting(fact: SettingFact): SettingType {
  const byResolution = fact.kind === "whole" ? fact.defaultAtHalf : undefined;
  const automatic = fact.automatic === true || byResolution !== undefined;
  const type = automatic ? z.union([z.literal("auto"), settingType(fact)]) : settingType(fact);
  const auto = `. auto: ${fact.default}, at half resolution ${byResolution}.`;
  return setting(type, {
    default: byResolution === undefined ? fact.default : "auto",
    description: byResolution === undefined ? fact.description : fact.description.replace(/\.$/, auto),
    ...(fact.unit !== undefined && { unit: fact.unit }),
    ...(fact.takesEffect !== undefined && { takesEffect: fact.takesEffect }),
    ...expectedText(fact),
  });
}

/** The types of one section's settings: what zod infers from facts is lost in a loop over them. */
type Shape<Section extends string> = {
  [Name in keyof SectionSettings<Section>]: z.ZodType<SectionSettings<Section>[Name]>;
};

function sectionShape<Section extends string>(name: Section): Shape<Section> {
  const prefix = `${name}.`;
  const inSection = STAGE_SETTINGS.filter(({ key }) => key.startsWith(prefix));
  const entries = inSection.map((fact) => [fact.key.slice(prefix.length), buildSetting(fact)]);
  return Object.fromEntries(entries) as Shape<Section>;
}

/** One section for each matcher: its own parameters. */
const MATCHER_SECTIONS = Object.fromEntries(
  MATCHERS.map(({ name, parameters }) => [
    name,
    section(
      `Settings of the matcher ${name}.`,
      Object.fromEntries(parameters.map((parameter) => [parameter.key, buildSetting(parameter)])),
    ),
  ]),
) as unknown as Record<Algorithm, z.ZodObject<Record<string, SettingType>>>;

export const matchSection = section(
  "Stereo matching. A disparity is x in the left image minus x in the right.",
  {
    algorithm: setting(z.enum(ALGORITHMS), {
      default: "sgm",
      description: `The matcher. ${MATCHERS.map(({ name, description }) => `${name}: ${description}`).join("; ")}.`,
    }),
    ...sectionShape("match"),
    ...MATCHER_SECTIONS,
  },
  "live",
);

export const rectifySection = section(
  "Rectification in addition to the calibration.",
  sectionShape("rectify"),
);

export const regionSection = section(
  "Region of interest in the rectified images: only it is matched, everything else is published as invalid.",
  sectionShape("region"),
  "live",
);

export const refineSection = section("What follows matching.", sectionShape("refine"), "live");

export const depthSection = section(
  "Which depths are published. A pixel outside the limits is invalid in every output.",
  sectionShape("depth"),
  "live",
);

export const pointsSection = section(
  "Points in space, for the outputs that take them and for match -o FILE.ply.",
  sectionShape("points"),
);

export const voxelsSection = section(
  "Voxels (cubes) that have a point in them: small clouds, for the outputs that take them. points.frame has their axes.",
  sectionShape("voxels"),
  "live",
);

export const registrationSection = section(
  "Depth in the image of another camera, for the outputs that take it.",
  {
    camera: setting(
      z
        .string()
        .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)
        .optional(),
      {
        expects: "right, or a name of otherCameras of the calibration file",
        description:
          "The other camera: a name of otherCameras of the calibration file, or right, the rectified right one.",
      },
    ),
    ...sectionShape("registration"),
  },
);

export const engineSection = section("The engine that computes frames.", {
  backend: setting(z.enum(["auto", "cpu", "cuda"]), {
    default: "auto",
    description:
      "A backend you name is used, or the run stops. auto: CUDA if it works, otherwise the CPU, and the log says why.",
  }),
  threads: setting(z.int().min(0).max(256), {
    default: 0,
    description: "Worker threads of the CPU backend. 0: one for each core that this process may use.",
  }),
});
