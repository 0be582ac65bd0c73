// SPDX-License-Identifier: Apache-2.0
// The one definition of every setting: types, defaults, ranges, JSON Schema and the reference page all come from here.
import { hostname } from "node:os";
import { z } from "zod";
import { type Exact, listSettings, section, setting } from "../contracts/setting.js";
import { controlSection } from "../control/settings.js";
import { httpSection } from "../http/settings.js";
import { outputsSection } from "../outputs/section.js";
import { healthSection } from "../rig/health/settings.js";
import { sourceSection } from "../sources/section.js";
import { calibrationSection, rigSection } from "./schema-calibration.js";
import { logSection } from "./schema-log.js";
import { powerSection } from "./schema-power.js";
import {
  depthSection,
  engineSection,
  matchSection,
  pointsSection,
  rectifySection,
  refineSection,
  regionSection,
  registrationSection,
  voxelsSection,
} from "./schema-stages.js";

// Control characters would reach the terminals of users who list devices; MQTT forbids or discourages them.
const TOPIC_LEVEL = /^[^+#/\s\p{Cc}$][^+#/\s\p{Cc}]*$/u;
const TOPIC_PREFIX = /^[^+#/\s\p{Cc}$][^+#/\s\p{Cc}]*(\/[^+#/\s\p{Cc}]+)*$/u;

/** The default of `device`: the host name, with what a topic level cannot hold replaced by a hyphen. */
function defaultDevice(): string {
  return hostname().replace(/[+#/\s\p{Cc}$]/gu, "-") || "device";
}

export const configSchema = section("All settings of depthwatt.", {
  device: setting(z.string().regex(TOPIC_LEVEL), {
    default: defaultDevice,
    expects: "one MQTT topic level of up to 200 bytes (no +, #, / or blank, and no $ in front)",
    description: "Name of this device in its topics; by default the host name.",
  }),
  base: setting(z.string().regex(TOPIC_PREFIX), {
    default: "depthwatt",
    expects: "MQTT topic levels joined by /, up to 200 bytes (no +, # or blank, and no $ in front)",
    description: "Beginning of every topic: BASE/DEVICE/depth.",
  }),
  board: setting(z.string().min(1), {
    default: "auto",
    description:
      "Board config whose settings apply below yours: a name in board-configs/, a file, auto or none.",
  }),
  source: sourceSection,
  rig: rigSection,
  calibration: calibrationSection,
  rectify: rectifySection,
  health: healthSection,
  match: matchSection,
  region: regionSection,
  refine: refineSection,
  depth: depthSection,
  points: pointsSection,
  voxels: voxelsSection,
  registration: registrationSection,
  engine: engineSection,
  outputs: outputsSection,
  http: httpSection,
  control: controlSection,
  power: powerSection,
  log: logSection,
});

export type Config = Exact<z.infer<typeof configSchema>>;

export const SETTINGS = listSettings(configSchema);
export const SETTING_BY_KEY = new Map(SETTINGS.map((item) => [item.key, item]));

/** The schema for editors and for others' checks (JSON Schema 2020-12); nothing is required, since all has a default. */
export function jsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, {
    override: ({ jsonSchema }) => {
      delete jsonSchema.required;
      delete jsonSchema.isPath;
      delete jsonSchema.expects;
      delete jsonSchema.takesEffect;
      if (typeof jsonSchema.default === "function") delete jsonSchema.default;
    },
  });
  const rigs = {
    type: "object",
    description: "Several pairs of cameras: by name, the settings of each that differ from the top level.",
    additionalProperties: { $ref: "#" },
  };
  const properties = { ...(schema.properties as object), rigs };
  return { ...schema, properties, title: "depthwatt configuration" };
}
