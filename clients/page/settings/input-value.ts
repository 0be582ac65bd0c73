// SPDX-License-Identifier: Apache-2.0
// Parses typed text as a value of a setting, by its JSON Schema.
import { isRecord } from "../documents.js";
import type { Value } from "./changes.js";

type Schema = Readonly<Record<string, unknown>>;

const isValue = (value: unknown): value is Value => ["string", "number", "boolean"].includes(typeof value);
const flattenSchema = (schema: Schema): Schema[] =>
  Array.isArray(schema.anyOf) ? schema.anyOf.filter(isRecord).flatMap(flattenSchema) : [schema];

/** Values to choose from, where the schema lists all of them. */
export function settingChoices(schema: Schema): Value[] | undefined {
  const parts = flattenSchema(schema).map((part): Value[] | undefined => {
    if (Array.isArray(part.enum)) return part.enum.filter(isValue);
    if (isValue(part.const)) return [part.const];
    return part.type === "boolean" ? [true, false] : undefined;
  });
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
}

/** Whole numbers, numbers, or neither alone. */
export function numberKind(schema: Schema): "integer" | "number" | undefined {
  return schema.type === "integer" || schema.type === "number" ? schema.type : undefined;
}

/** A number where the setting takes one and the text is one, else the text. */
export function typedValue(schema: Schema, text: string): Value {
  const takesNumbers = flattenSchema(schema).some((part) => numberKind(part) !== undefined);
  const number = text.trim() === "" ? Number.NaN : Number(text);
  return takesNumbers && Number.isFinite(number) ? number : text;
}
