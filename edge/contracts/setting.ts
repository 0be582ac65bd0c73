// SPDX-License-Identifier: Apache-2.0
// Defines settings: a zod type with its facts (default, unit, one sentence, live), and how to walk over all of them.
import { z } from "zod";

export type SettingValue = string | number | boolean;

/** Values by dotted key; undefined or null unsets a setting that may have none. */
export type SettingsChange = Readonly<Record<string, SettingValue | undefined | null>>;

/** A setting as others read it, such as the live page. */
export interface SettingDescription {
  key: string;
  description: string;
  unit?: string | undefined;
  /** JSON Schema of its value. */
  schema: Record<string, unknown>;
  default?: SettingValue | undefined;
  /** True if a change takes effect on the running program. */
  live: boolean;
}

/** live: a change takes effect on the running program. restart: at the next start. */
export type TakesEffect = "live" | "restart";

export interface SettingFacts {
  /** One sentence: what it does. */
  description: string;
  /** Absent: the setting has no value until one is given, and its type must be optional. */
  default?: SettingValue | (() => SettingValue);
  /** Such as "px", "Hz", "bytes"; absent for names and switches. */
  unit?: string;
  /** When a change takes effect; absent: as its section says. */
  takesEffect?: TakesEffect;
  /** The accepted values in words, if the type does not describe them well: for a pattern. */
  expects?: string;
  /** True for files and folders: in a configuration file they are relative to that file. */
  isPath?: boolean;
}

/** A leaf of the schema together with its facts. */
export function setting<T extends z.ZodType>(schema: T, facts: SettingFacts): T {
  return schema.meta({ ...facts });
}

/**
 * A group of settings; the description heads its table in the reference.
 * @param takesEffect for all in it that do not say it themselves; absent: as the section around it
 */
export function section<Shape extends z.core.$ZodLooseShape>(
  description: string,
  shape: Shape,
  takesEffect?: TakesEffect,
) {
  return z.strictObject(shape).meta({ description, ...(takesEffect && { takesEffect }) });
}

/** zod says `key?: T | undefined`; a loaded configuration leaves out what has no value. */
export type Exact<T> = {
  [Key in keyof T]: T[Key] extends object ? Exact<T[Key]> : Exclude<T[Key], undefined>;
};

export interface Setting {
  /** Dotted, such as "match.sgm.p1". */
  key: string;
  schema: z.ZodType;
  facts: SettingFacts;
  takesEffect: TakesEffect;
}

/** Every setting of a schema in the order of its definition. `around`: for sections that do not say when they take effect. */
export function listSettings(schema: z.ZodObject, prefix = "", around: TakesEffect = "restart"): Setting[] {
  const inHere = (schema.meta() as { takesEffect?: TakesEffect } | undefined)?.takesEffect ?? around;
  return Object.entries(schema.shape).flatMap(([name, child]) => {
    const key = prefix === "" ? name : `${prefix}.${name}`;
    if (child instanceof z.ZodObject) return listSettings(child, key, inHere);
    const type = child as z.ZodType;
    const facts = type.meta() as unknown as SettingFacts;
    return [{ key, schema: type, facts, takesEffect: facts.takesEffect ?? inHere }];
  });
}
