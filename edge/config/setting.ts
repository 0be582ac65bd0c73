// SPDX-License-Identifier: Apache-2.0
// What a setting is: a zod type with its facts (default, unit, one sentence, live), and how to walk over all of them.
import { z } from "zod";

export type SettingValue = string | number | boolean;

export interface SettingFacts {
  /** One sentence: what it does. */
  description: string;
  /** Absent: the setting has no value until one is given, and its type must be optional. */
  default?: SettingValue | (() => SettingValue);
  /** Such as "px", "Hz", "bytes"; absent for names and switches. */
  unit?: string;
  /** True where a change takes effect in a running pipeline; absent means at the next start. */
  live?: boolean;
  /** True for files and folders: in a configuration file they are relative to that file. */
  isPath?: boolean;
}

/** A leaf of the schema together with its facts. */
export function setting<T extends z.ZodType>(schema: T, facts: SettingFacts): T {
  return schema.meta({ ...facts });
}

/** A group of settings; the description heads its table in the reference. */
export function section<Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) {
  return z.strictObject(shape).meta({ description });
}

/** zod says `key?: T | undefined`; a loaded configuration leaves out what has no value. */
export type Exact<T> = {
  [Key in keyof T]: T[Key] extends object ? Exact<T[Key]> : Exclude<T[Key], undefined>;
};

export interface Setting {
  /** Dotted, such as "match.p1". */
  key: string;
  schema: z.ZodType;
  facts: SettingFacts;
}

/** Every setting of a schema in the order of its definition. */
export function listSettings(schema: z.ZodObject, prefix = ""): Setting[] {
  return Object.entries(schema.shape).flatMap(([name, child]) => {
    const key = prefix === "" ? name : `${prefix}.${name}`;
    if (child instanceof z.ZodObject) return listSettings(child, key);
    const type = child as z.ZodType;
    return [{ key, schema: type, facts: type.meta() as unknown as SettingFacts }];
  });
}
