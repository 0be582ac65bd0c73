// SPDX-License-Identifier: Apache-2.0
// The commands and the schemas of their bodies.
import { z } from "zod";

const key = z.string().min(1).max(200);

export const COMMANDS = {
  get: z.strictObject({
    keys: z.array(key).max(1000).optional().meta({ description: "Which settings; absent: all." }),
  }),
  set: z
    .strictObject({
      preset: key.optional().meta({ description: "Settings under one name; those of values win." }),
      values: z
        .record(key, z.union([z.string(), z.number(), z.boolean(), z.null()]))
        .optional()
        .meta({ description: "New values by dotted key; null unsets a setting that may have none." }),
      save: z
        .boolean()
        .optional()
        .meta({ description: "Writes what was set into the configuration file as well." }),
    })
    .refine(
      ({ preset, values }) => preset !== undefined || Object.keys(values ?? {}).length > 0,
      "expected at least one setting in values, or a preset",
    ),
  schema: z.strictObject({}),
  snapshot: z.strictObject({}),
  wake: z.strictObject({}),
  record: z.strictObject({
    recording: z
      .boolean()
      .optional()
      .meta({ description: "true begins a file, false ends it; absent: true." }),
    seconds: z
      .number()
      .min(1)
      .max(86_400)
      .optional()
      .meta({ description: "Ends the recording after so long." }),
  }),
  recalibrate: z.strictObject({
    undo: z.boolean().optional().meta({ description: "true returns to the calibration before it." }),
  }),
  restart: z.strictObject({}),
} as const;

export type CommandName = keyof typeof COMMANDS;
export type CommandBody<Name extends CommandName> = z.infer<(typeof COMMANDS)[Name]>;

export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[];

/** JSON Schema of every command's body. */
export function commandSchemas(): Record<string, object> {
  return Object.fromEntries(COMMAND_NAMES.map((name) => [name, z.toJSONSchema(COMMANDS[name])]));
}

/** One clause: where and what, of the first thing that is wrong. */
export function firstIssue(error: z.ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return "it does not fit its schema";
  const where = issue.path.map(String).join(".");
  return where === "" ? issue.message : `${where}: ${issue.message}`;
}
